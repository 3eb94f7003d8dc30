//! Resources and prompts through the frame, with a world made for the test.
