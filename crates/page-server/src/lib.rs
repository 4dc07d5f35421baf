//! The page over HTTP: what `pumice ui` and the scheduler have in common. What is on it is made by `pumice_page`; who
//! answers is a [`PlanningSource`] of whoever serves it.
//!
//! ```text
//!  browser ─► visitors: who is let in ─► routes ─► PageDesk ─► the desk's thread ─► FreshAnswers ─► a source
//!                                          └ stream: what changes of a page while somebody looks at it ◄─ Renderings
//! ```
//!
//! Below which path the page lies is told by whoever serves it, and every link and stream on it begins with that.

mod desk;
mod fresh;
mod renderings;
mod routes;
mod source;
mod stream;
mod visitors;

pub use desk::PageDesk;
pub use routes::{router, serve};
pub use source::{PlanForm, PlanningSource};
pub use visitors::PageVisitors;
