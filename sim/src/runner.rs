/// x
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct Mismatch {}
