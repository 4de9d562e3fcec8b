//! What jobs are drawn for.

use golden::accelerators::kllm::Shape;
use jobs::draft::Operations;

/// What jobs are drawn for: the operations and the shape of an accelerator.
pub(super) type Target<'a> = (&'a Operations, &'a Shape);
