//! An extender in a simulation: nobody is there to be asked, so every question fails (spec/02 §23.5).

use pumice_engine::Engine;
use pumice_model::Delta;
use pumice_model::extender::{ExtenderAnswer, ExtenderSettings, StandingQuestion};

use crate::problem::InputPlace;
use crate::problem::InputProblem;

/// What there is to say to questions that stand and were not answered before.
pub(crate) fn answers(engine: &mut Engine) -> Vec<Delta> {
    if !engine.has_new_questions() {
        return Vec::new();
    }
    let asked = engine.question_sheet().questions.into_iter();
    let asked = asked.filter(|asked| !asked.is_answered);
    let why = "nobody asks it in a simulation";
    let failed = |asked: StandingQuestion| Delta::ExtenderAnswer {
        question: asked.question,
        answer: Box::new(ExtenderAnswer::Failed(why.to_owned())),
    };
    asked.map(failed).collect()
}

/// What users have to know of it.
pub(crate) fn problem(extender: &ExtenderSettings) -> InputProblem {
    let then = match extender.ignorable {
        true => "all goes on as if it agreed",
        false => "what it has a word on waits",
    };
    InputProblem {
        place: InputPlace::default(),
        object: "plugin extender".to_owned(),
        message: format!(
            "nobody asks the extender at {} in a simulation: {then}",
            extender.url_prefix
        ),
        help: "take it out of the configuration to see what would be decided without it".to_owned(),
        kept: true,
    }
}
