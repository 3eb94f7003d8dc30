//! Every kind of bad input gets a typed answer, and the server goes on.
