//! The editor world, through the real binary.

/// Several edits at once: all or nothing.
mod batches;
/// What must not change keeps its bytes.
mod bytes;
/// Control characters, which no text may bring.
mod characters;
/// Large deletions want a yes, where a setting says so.
mod confirmations;
/// Changes that are based on an older text.
mod conflicts;
/// The contract: every call, answer, error, resource and prompt as it is written down.
mod contract;
/// Whole documents, default documents, and what no path reaches.
mod folders;
/// Undo, redo, and what was.
mod history;
/// Bounds and pages.
mod limits;
/// Links in all places, links of the file system, and line ends that only old programs write.
mod links;
/// Listings and schemas, pinned in files.
mod listings;
/// What the model reads when something is wrong.
mod messages;
/// What clients hear without asking, and what they are offered while they fill something in.
mod notices;
/// Edits that other programs make meanwhile.
mod other_programs;
/// Texts that are longer than one answer.
mod parts;
/// What other editors got wrong.
mod pitfalls;
/// Dry runs, plans and retries.
mod plans;
/// Many servers at once, and servers that are killed.
mod processes;
/// The contract again, by a client that others wrote.
mod real_client;
/// Which section is meant, and where it goes.
mod sections;
/// The contract's versions, fields, transports and ways to sign in.
mod shapes;
/// What a folder brings along, and a server that writes nothing.
mod untrusted;
/// What is hidden, and what only reads.
mod visibility;

/// Sections of all kinds.
const SAMPLE: &str = "# Title\n\nIntro text.\n\n## Alpha\n\nAlpha body.\n\n### Alpha child\n\nChild body.\n\n## Beta\n\nBeta body.\n\n\
                      ## Gamma\n\nGamma body.\n";

/// Codes of the contract.
const INVALID_PARAMS: i64 = -32602;
const APPLICATION_ERROR: i64 = -32000;
