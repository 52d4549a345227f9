//! The states of a workflow and their transitions.

use serde::{Deserialize, Serialize};

/// The record of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    /// Its input.
    pub input: i64,
    /// The number of host calls that it has made.
    pub step: u32,
    /// Its state.
    pub state: State,
}

/// The state of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// It has not started and has no snapshot.
    New,
    /// Its call has finished, with a result if the function has one.
    Ready(Option<i32>),
    /// It sleeps until a time, in milliseconds since 1970.
    Sleeping(u64),
    /// It waits for the response to a request.
    Requesting(String),
    /// It waits for a decision.
    Asking(String),
    /// It has returned.
    Ended(i32),
    /// It has trapped, or could not be continued.
    Failed(String),
}

/// A call of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Sleeps for some milliseconds.
    Sleep(u64),
    /// Sends a request.
    Http(String),
    /// Asks for a decision.
    Approve(String),
    /// Logs a message.
    Log(String),
}

/// The outcome of a run.
#[derive(Debug)]
pub enum Outcome {
    /// It has called the host, with this snapshot.
    Calls(Call, Vec<u8>),
    /// It has returned.
    Returned(i32),
    /// It has failed.
    Failed(String),
}

impl Workflow {
    /// A new workflow.
    pub fn new(input: i64) -> Workflow {
        Workflow { input, step: 0, state: State::New }
    }

    /// Whether it has ended or failed.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Ended(_) | State::Failed(_))
    }

    /// The workflow after a run, its snapshot, and the effect of the step.
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

    /// The workflow after its call has a result, and the effect of the step. Returns nothing if it
    /// does not wait for this kind of result.
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

/// The result of a call that a workflow waits for.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// The present time.
    Time(u64),
    /// The status of a response.
    Status(i32),
    /// A decision.
    Decision(bool),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_accepts_only_the_answer_that_it_waits_for() {
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
    fn a_log_message_is_an_effect() {
        let workflow = Workflow::new(1);
        let outcome = Outcome::Calls(Call::Log("received".into()), vec![7]);
        let (next, image, effect) = workflow.after(outcome, 0);
        assert_eq!((next.step, next.state), (1, State::Ready(None)));
        assert_eq!((image, effect.as_deref()), (Some(vec![7]), Some("log received")));
    }
}
