//! SSH signatures of approvals: what is signed, and whether a signature holds.
