"""Rules that turn headings and passages into question-shaped queries, and passages into spans.

Used by pairs.py. The rules are plain patterns over English documentation; a wrong question now and then does no harm, since the passage it came from is
still the best answer among thousands.
"""

import re

VERBS = set(
    """access accept achieve acknowledge activate adapt add adjust administer aggregate align allocate allow alter analyze apply approve archive arrange ask assemble
    assess assign associate attach audit authenticate author authorize automate avoid back bind block boot browse build bypass cache calculate call cancel capture cast
    change check choose clean clear clone close collaborate collect combine commit compare compile complete compose compress compute configure confirm connect consider
    construct consume contact contribute control convert copy correct count create customize cut debug declare decrease decrypt define delegate delete demote deny deploy
    deprecate describe deserialize design detach detect determine develop diagnose disable discard disconnect discover dismiss display distribute document download drain
    drop dump duplicate edit eliminate embed emit enable encode encrypt end enforce ensure enter enumerate escape establish estimate evaluate examine exclude execute expand
    explain explore export expose express extend extract fetch fill filter find fine-tune finish fix flush follow force fork format forward free freeze gather generate get
    give grant group grow handle hide highlight host identify ignore implement import improve include increase index inherit initialize inject insert inspect install
    instantiate instrument integrate intercept interpret investigate invite invoke isolate iterate join keep kill label launch learn limit link list listen load localize
    locate lock log look loop lower maintain make manage manipulate map mark mask match maximize measure merge migrate minimize mirror mock modify monitor mount move name
    navigate nest notify obtain offload open operate optimize order organize override pack parse pass paste patch pause perform permit persist pin place plan plot poll
    populate port post practice prepare preserve press prevent preview print process produce profile promote protect provide provision proxy prune publish pull purge push
    put query queue quit raise read rebase rebuild receive recognize reconfigure record recover redirect reduce refactor reference refresh register reject release reload
    remove rename render renew reopen reorder repair repeat replace replicate report request require reroute reserve reset resize resolve respond restart restore restrict
    resume retain retrieve retry return reuse revert review revoke rewrite rollback rotate route run sample sanitize save scale scan schedule script seal search secure
    select send separate serialize serve set share ship show shrink shut sign simplify simulate skip snapshot sort specify split stage start stop store stream structure
    style submit subscribe suppress suspend swap switch synchronize tag target tell terminate test throttle throw trace track train transfer transform translate traverse
    trigger troubleshoot trust tune turn type undo uninstall unlock unregister unsubscribe unzip update upgrade upload use validate verify view visualize wait walk warn
    watch work wrap write""".split()
)
GENERIC = set(
    """arguments parameters remarks returns return example examples syntax options usage properties methods permissions requirements prerequisites notes limitations
    inputs outputs exceptions errors attributes members fields values constructors operators description overview""".split()
)


def gerund(verb):
    if re.search(r"[^aeiou][aeiou][bdgmnprt]$", verb) and len(verb) <= 4 or verb in ("submit", "permit", "commit", "begin", "control", "unzip"):
        return verb + verb[-1] + "ing"
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return verb + "ing"


GERUNDS = {gerund(verb): verb for verb in VERBS}
LEAD = re.compile(r"^(?:\d+(?:\.\d+)*[.:)]?\s+|step \d+[.:]?\s+|how to\s+|how do i\s+|to\s+(?=[a-z]))+", re.I)


def lower_first(text):
    """Lowercase the first letter unless the word is a name or an abbreviation."""
    word = text.split(" ", 1)[0]
    return text if any(char.isupper() or char.isdigit() or char in "_.:" for char in word[1:]) else text[:1].lower() + text[1:]


def second_person(text):
    text = re.sub(r"\byour\b", "my", text)
    return re.sub(r"\byou\b", "I", text)


def heading_question(path, leaf, source, pick):
    """A question for a heading path, or nothing. `pick` is any number: it chooses among the wordings."""
    heading = leaf or path
    if source == 18:
        term = path.split(",")[0]
        return (f"What is {term}?", f"What does {term} mean?", f"what is the meaning of {term}", f"define {term}")[pick % 4]
    if heading.rstrip().endswith("?"):
        return None
    bare = LEAD.sub("", heading).strip(" .:")
    words = bare.split()
    if not 1 <= len(words) <= 14:
        return None
    first = words[0].lower()
    verb = first if first in VERBS else GERUNDS.get(first)
    if verb and len(words) > 1:
        rest = second_person(" ".join(words[1:]))
        return (f"How do I {verb} {rest}?", f"How can I {verb} {rest}?", f"how to {verb} {rest}", f"What do I need to do to {verb} {rest}?",
                f"What is the way to {verb} {rest}?")[pick % 5]
    if source == 4:
        return (f"research on {lower_first(bare)}", f"papers about {lower_first(bare)}")[pick % 2]
    if first in ("what", "why", "when", "where", "which", "who", "how", "can", "does", "is", "are", "should"):
        return lower_first(bare) + "?"
    noun = lower_first(bare)
    last = words[-1].lower()
    if last in GENERIC:
        before = " ".join(words[:-1]) if len(words) > 1 else path[: len(path) - len(heading)].strip()
        if not before or len(before.split()) > 10:
            return None
        return (f"What are the {last} of {before}?", f"{before}: which {last} are there?")[pick % 2]
    return (f"What is {noun}?", f"What does {noun} do?", f"How does {noun} work?", f"Where can I read about {noun}?", f"tell me about {noun}",
            f"What should I know about {noun}?", f"When do I need {noun}?")[pick % 7]


SENTENCE_RULES = [
    (re.compile(r"^To ([a-z]+ [^,]{8,90}), (?:you|we|use|run|call|set|click|select|add|see|specify|open|create|enter|type|choose|right|first|go|do|follow|make|change|install|press)\b"),
     ("How do I {0}?", "How can I {0}?", "how to {0}", "What should I do to {0}?")),
    (re.compile(r"\b(?:lets|allows|enables|helps) (?:you|users|developers|the user|administrators|us) (?:to )?([a-z]+ [^,.;:]{8,90})"),
     ("How can I {0}?", "What lets me {0}?", "Is there a way to {0}?", "I want to {0}")),
    (re.compile(r"\b[Yy]ou can (?:also )?(?:use|run|call|add|set) [^,.]{2,60}? to ([a-z]+ [^,.;:]{8,90})"),
     ("How can I {0}?", "What can I use to {0}?", "Is it possible to {0}?", "how to {0}")),
    (re.compile(r"\b[Yy]ou can (?!use|run|call|also)([a-z]+ [^,.;:]{8,90})"), ("Can I {0}?", "How can I {0}?", "Is it possible to {0}?")),
    (re.compile(r"^If ((?:you|the|a|an|your|this|there|no|it) [^,]{8,100}), "), ("What happens if {0}?", "What should I do if {0}?", "{0}, what now?")),
    (re.compile(r"^When ((?:you|the|a|an|your|this|there|no) [^,]{8,100}), "), ("What happens when {0}?", "What happens once {0}?")),
    (re.compile(r"^(.{12,90}?) because "), ("Why is it that {l0}?", "What is the reason that {l0}?")),
    (re.compile(r"\b(?:is|are|be) used (?:to|for) ([^,.;:]{8,90})"), ("What is used to {0}?", "What should I use to {0}?")),
    (re.compile(r"^([A-Z][\w .'()-]{2,50}?) (?:requires?|depends? on|needs?) "), ("What does {l0} require?", "What do I need for {l0}?")),
    (re.compile(r"^(?:You|We|It) (?:must|should|need to|have to) ([a-z]+ [^,.;:]{8,90}) (?:before|so that|in order|if) "), ("Do I have to {0}?", "When must I {0}?")),
    (re.compile(r"\b(?:we|We|paper|work) (?:proposes?|presents?|introduces?|investigates?|study|studies|explores?|develops?|describes?) (?:a |an |the |novel |new )*([^,.;:]{12,90})"),
     ("Which work is about {0}?", "Has anyone studied {0}?", "{0}")),
    (re.compile(r"^((?:The |An? )?[A-Z`\w][\w .'()-]{2,50}?) (?:is|are) (?:an?|the|used|responsible|one) "), ("What is {l0}?", "What does {l0} do?", "How does {l0} work?")),
]


# What points at something said before makes no question of its own.
VAGUE = re.compile(r"(?i)^(?:(?:this|these|those|it|that|there|here|they|we|our)\b|(?:an|the) (?:example|following|return|result|above|output)\b)")


def sentences(text):
    """A passage's sentences with their places, as (first, last) character numbers; each of 6 to 45 words."""
    found, start = [], 0
    for end in [match.end() for match in re.finditer(r"[.!?:](?:\s+(?=[A-Z0-9`\[(])|$)", text)] + [len(text)]:
        if 6 <= len(text[start:end].split()) <= 45:
            found.append((start, end))
        if end > start:
            start = end
    return found


def sentence_question(text, spans, pick):
    """A question that one of the passage's sentences answers, or nothing."""
    for turn in range(len(spans)):
        first, last = spans[(pick + turn) % len(spans)]
        sentence = text[first:last].strip()
        for rule, wordings in SENTENCE_RULES:
            found = rule.search(sentence)
            if found:
                part = found.group(1).strip()
                after = sentence[found.end(1) : found.end(1) + 1]
                if after.isalnum():
                    part = part.rpartition(" ")[0]
                if not 1 <= len(part.split()) <= 18 or VAGUE.match(part):
                    continue
                part = second_person(part)
                return wordings[pick % len(wordings)].format(part, l0=lower_first(part))
    return None
