//! The elements and attributes that a note can become, and how they are written within a limit.

/// Declares the names that can be written.
macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum $type { $($variant,)* }

        impl $type {
            fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

names! {
    /// An element. There are no others.
    Element {
        Anchor = "a",
        BlockQuote = "blockquote",
        Code = "code",
        Deletion = "del",
        Division = "div",
        Emphasis = "em",
        Heading1 = "h1",
        Heading2 = "h2",
        Heading3 = "h3",
        Heading4 = "h4",
        Heading5 = "h5",
        Heading6 = "h6",
        HorizontalRule = "hr",
        Input = "input",
        LineBreak = "br",
        ListItem = "li",
        OrderedList = "ol",
        Paragraph = "p",
        Preformatted = "pre",
        Span = "span",
        Strong = "strong",
        Superscript = "sup",
        Table = "table",
        TableBody = "tbody",
        TableCell = "td",
        TableHead = "thead",
        TableHeader = "th",
        TableRow = "tr",
        UnorderedList = "ul",
    }
}

names! {
    /// An attribute. There are no others; none holds a script or a style, and only one holds an address.
    Attribute {
        AriaLabel = "aria-label",
        AriaLevel = "aria-level",
        Checked = "checked",
        Class = "class",
        Dir = "dir",
        Disabled = "disabled",
        Href = "href",
        Id = "id",
        Rel = "rel",
        Role = "role",
        Scope = "scope",
        Start = "start",
        TabIndex = "tabindex",
        Title = "title",
        Type = "type",
    }
}

/// The attributes of a tag, with values that are not escaped yet.
pub(super) type AttributeList<'a> = &'a [(Attribute, &'a str)];

/// Text runs in the direction of its first letter.
pub(super) const DIR_AUTO: (Attribute, &str) = (Attribute::Dir, "auto");

/// Writes elements. The result never exceeds the limit, closing tags included.
#[derive(Debug)]
pub(super) struct HtmlWriter {
    html: String,
    open: Vec<Element>,
    /// Length of the closing tags of all open elements.
    closing: usize,
    limit: usize,
    is_truncated: bool,
}

impl HtmlWriter {
    /// Creates a writer of at most `limit` bytes, for about `expected` bytes of text.
    pub(super) fn new(limit: usize, expected: usize) -> Self {
        Self {
            html: String::with_capacity(limit.min(expected)),
            open: Vec::new(),
            closing: 0,
            limit,
            is_truncated: false,
        }
    }

    /// Returns whether the limit was reached. Nothing is written any more.
    pub(super) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Returns the number of open elements.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns whether this element is open.
    pub(super) fn is_open(&self, element: Element) -> bool {
        self.open.contains(&element)
    }

    /// Opens an element.
    pub(super) fn open(&mut self, element: Element, attributes: AttributeList<'_>) {
        if self.tag(element, attributes, closing_len(element)) {
            self.open.push(element);
            self.closing += closing_len(element);
        }
    }

    /// Writes an element that has no content.
    pub(super) fn void(&mut self, element: Element, attributes: AttributeList<'_>) {
        self.tag(element, attributes, 0);
    }

    /// Writes an element with this text.
    pub(super) fn element(&mut self, element: Element, attributes: AttributeList<'_>, text: &str) {
        let depth = self.depth();
        self.open(element, attributes);
        self.text(text);
        self.close_to(depth);
    }

    /// Closes elements until `depth` are open.
    pub(super) fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth
            && let Some(element) = self.open.pop()
        {
            self.closing -= closing_len(element);
            self.html.push_str("</");
            self.html.push_str(element.name());
            self.html.push('>');
        }
    }

    /// Writes text, or as much of it as there is room for.
    pub(super) fn text(&mut self, text: &str) {
        if self.is_truncated {
            return;
        }
        let start = self.html.len();
        push_escaped(&mut self.html, text);
        if self.has_room(0) {
            return;
        }
        self.html.truncate(start);
        self.is_truncated = true;
        let mut buffer = [0; 4];
        for c in text.chars() {
            let before = self.html.len();
            push_escaped(&mut self.html, c.encode_utf8(&mut buffer));
            if !self.has_room(0) {
                self.html.truncate(before);
                break;
            }
        }
    }

    /// Closes all elements, and returns the HTML and whether something is missing from it.
    pub(super) fn finish(mut self) -> (String, bool) {
        self.close_to(0);
        (self.html, self.is_truncated)
    }

    /// Writes an opening tag if there is room for it and `more` bytes.
    fn tag(&mut self, element: Element, attributes: AttributeList<'_>, more: usize) -> bool {
        if self.is_truncated {
            return false;
        }
        let start = self.html.len();
        self.html.push('<');
        self.html.push_str(element.name());
        for (attribute, value) in attributes {
            self.html.push(' ');
            self.html.push_str(attribute.name());
            self.html.push_str("=\"");
            push_escaped(&mut self.html, value);
            self.html.push('"');
        }
        self.html.push('>');
        if !self.has_room(more) {
            self.html.truncate(start);
            self.is_truncated = true;
        }
        !self.is_truncated
    }

    fn has_room(&self, more: usize) -> bool {
        self.html.len() + self.closing + more <= self.limit
    }
}

fn closing_len(element: Element) -> usize {
    "</>".len() + element.name().len()
}

/// Escapes text for the content of an element or for a quoted attribute. Control characters that HTML cannot represent
/// become U+FFFD.
#[must_use]
pub fn escape_html(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    push_escaped(&mut html, text);
    html
}

fn push_escaped(html: &mut String, text: &str) {
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !IS_SPECIAL[usize::from(byte)] {
            continue;
        }
        html.push_str(&text[start..at]);
        start = at + 1;
        html.push_str(match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            // A browser would read it as a line feed.
            b'\r' => "&#13;",
            _ => "\u{fffd}",
        });
    }
    html.push_str(&text[start..]);
}

/// Whether each byte has to be escaped. All of these are ASCII.
const IS_SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < b' ' {
        special[byte as usize] = !matches!(byte, b'\t' | b'\n');
        byte += 1;
    }
    special[b'&' as usize] = true;
    special[b'<' as usize] = true;
    special[b'>' as usize] = true;
    special[b'"' as usize] = true;
    special[b'\'' as usize] = true;
    special[127] = true;
    special
};
