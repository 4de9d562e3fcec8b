//! What a check finds.

use crate::lang::error::Loc;

/// Place, message, second place.
pub(super) type Finding = (Loc, String, Option<(String, Loc)>);
