//! Stress tier: large notes and answers stay bounded, repeated calls give the same bytes.
