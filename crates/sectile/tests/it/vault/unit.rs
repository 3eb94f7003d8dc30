//! Unit tier: name, arguments and allowlisted fields of each tool.
