//! Everything that the text of a program is made of.

use super::order::Order;
use super::plan::Plan;
use super::sites::Sites;
use super::steps::Step;
use super::store::Store;

/// Everything that the text is made of.
pub(super) struct Parts<'a> {
    pub sites: &'a Sites,
    pub store: &'a Store<'a>,
    pub steps: &'a [Step],
    pub order: &'a Order,
    pub plan: &'a Plan,
}
