//! The states of a workflow, and how one follows from another.

use serde::{Deserialize, Serialize};

/// What is kept of a workflow, beside its image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    /// What it was started with.
    pub input: i64,
    /// How many calls of the host it has made.
    pub step: u32,
    /// How far it is.
    pub state: State,
}

/// How far a workflow is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// It has not begun, and has no image.
    New,
    /// Its call has this result, if it has one at all.
    Ready(Option<i32>),
    /// It sleeps until a time, in milliseconds since 1970.
    Sleeping(u64),
    /// It waits for an answer of somebody outside.
    Requesting(String),
    /// It waits for somebody's decision.
    Asking(String),
    /// It has returned.
    Ended(i32),
    /// It has trapped, or could not be continued.
    Failed(String),
}

/// A call of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// To do nothing for some milliseconds.
    Sleep(u64),
    /// To send a request.
    Http(String),
    /// To ask somebody.
    Approve(String),
    /// To note something.
    Log(String),
}

/// What a workflow has come to when it was run.
#[derive(Debug)]
pub enum Outcome {
    /// It calls the host, and was written down.
    Calls(Call, Vec<u8>),
    /// It has returned.
    Returned(i32),
    /// It has failed.
    Failed(String),
}

impl Workflow {
    /// One that has not begun.
    pub fn new(input: i64) -> Workflow {
        Workflow { input, step: 0, state: State::New }
    }

    /// Whether there is nothing more to do.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Ended(_) | State::Failed(_))
    }

    /// After a run: its next state, its image, and what can be seen of the step from outside.
    pub fn after(&self, outcome: Outcome, now: u64) -> (Workflow, Option<Vec<u8>>, Option<String>) {
        let step = self.step + u32::from(matches!(outcome, Outcome::Calls(..)));
        let next = |state| Workflow { input: self.input, step, state };
        match outcome {
            Outcome::Calls(call, image) => {
                let (state, effect) = match call {
                    Call::Sleep(time) => (State::Sleeping(now.saturating_add(time)), None),
                    Call::Http(request) => (State::Requesting(request), None),
                    Call::Approve(question) => (State::Asking(question), None),
                    Call::Log(text) => (State::Ready(None), Some(format!("log {text}"))),
                };
                (next(state), Some(image), effect)
            }
            Outcome::Returned(code) => (next(State::Ended(code)), None, None),
            Outcome::Failed(why) => (next(State::Failed(why)), None, None),
        }
    }

    /// After its call has got what it waited for: its next state, and what can be seen of the
    /// step from outside. Nothing if it waits for something else.
    pub fn answered(&self, answer: Answer) -> Option<(Workflow, Option<String>)> {
        let (result, effect) = match (&self.state, answer) {
            (State::Sleeping(until), Answer::Time(now)) if *until <= now => (None, None),
            (State::Requesting(request), Answer::Status(status)) => {
                (Some(status), Some(format!("http {request}: {status}")))
            }
            (State::Asking(question), Answer::Decision(yes)) => {
                let word = if yes { "yes" } else { "no" };
                (Some(i32::from(yes)), Some(format!("approve {question}: {word}")))
            }
            _ => return None,
        };
        Some((Workflow { state: State::Ready(result), ..self.clone() }, effect))
    }
}

/// What a workflow waits for.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// It is this late.
    Time(u64),
    /// The status of a response.
    Status(i32),
    /// Somebody has decided.
    Decision(bool),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_workflow_waits_for_is_what_it_gets() {
        let waiting = |state| Workflow { input: 1, step: 3, state };
        let asking = waiting(State::Asking("ship".into()));
        assert_eq!(asking.answered(Answer::Status(200)), None);
        let (next, effect) = asking.answered(Answer::Decision(true)).unwrap();
        assert_eq!((next.state, next.step), (State::Ready(Some(1)), 3));
        assert_eq!(effect.unwrap(), "approve ship: yes");
        let sleeping = waiting(State::Sleeping(100));
        assert_eq!(sleeping.answered(Answer::Time(99)), None);
        assert_eq!(sleeping.answered(Answer::Time(100)).unwrap().0.state, State::Ready(None));
        assert_eq!(waiting(State::Ended(0)).answered(Answer::Time(100)), None);
    }

    #[test]
    fn a_note_is_an_effect_of_its_step() {
        let workflow = Workflow::new(1);
        let outcome = Outcome::Calls(Call::Log("received".into()), vec![7]);
        let (next, image, effect) = workflow.after(outcome, 0);
        assert_eq!((next.step, next.state), (1, State::Ready(None)));
        assert_eq!((image, effect.as_deref()), (Some(vec![7]), Some("log received")));
    }
}
