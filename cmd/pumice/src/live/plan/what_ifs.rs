//! What-ifs as they are written on the command line.

use pumice_plan::{AmountsThen, WhatIf};

use crate::bad_input::BadInput;

/// `NAME=cpu=64,deserved.cpu=32,weight=2`.
pub fn queue(text: &str) -> Result<WhatIf, BadInput> {
    let wrong = |what: &str| {
        BadInput(format!(
            "error: --queue {text:?}: {what}\n  = help: write the queue and amounts as \
             research=cpu=64,deserved.nvidia.com/gpu=8,weight=2; what has no word before it is the capability"
        ))
    };
    let (name, amounts) = text.split_once('=').ok_or_else(|| wrong("no amounts"))?;
    if name.is_empty() || amounts.is_empty() {
        return Err(wrong("no queue or no amounts"));
    }
    let mut then = AmountsThen::default();
    for amount in amounts.split(',') {
        let (resource, value) = amount
            .split_once('=')
            .filter(|(resource, value)| !resource.is_empty() && !value.is_empty())
            .ok_or_else(|| wrong(&format!("{amount:?} is no amount of a resource")))?;
        if resource == "weight" {
            let weight = value.parse().ok().filter(|weight| *weight > 0);
            then.weight = Some(weight.ok_or_else(|| wrong("the weight is no number above 0"))?);
            continue;
        }
        let (of, resource) = match resource.split_once('.') {
            Some(("capability", rest)) => (&mut then.capability, rest),
            Some(("deserved", rest)) => (&mut then.deserved, rest),
            Some(("guarantee", rest)) => (&mut then.guarantee, rest),
            _ => (&mut then.capability, resource),
        };
        of.insert(resource.to_owned(), value.to_owned());
    }
    Ok(WhatIf::Queue {
        name: name.to_owned(),
        amounts: then,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_a_queue_are_read_each_where_it_belongs() {
        let WhatIf::Queue { name, amounts } =
            queue("q=cpu=64,nvidia.com/gpu=8,deserved.example.com/x=1,guarantee.cpu=2,weight=3")
                .expect("read")
        else {
            panic!("a queue");
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(name, "q");
        assert_eq!(
            amounts.capability,
            [pair("cpu", "64"), pair("nvidia.com/gpu", "8")].into()
        );
        assert_eq!(amounts.deserved, [pair("example.com/x", "1")].into());
        assert_eq!(amounts.guarantee, [pair("cpu", "2")].into());
        assert_eq!(amounts.weight, Some(3));
        for wrong in [
            "q",
            "=cpu=1",
            "q=",
            "q=cpu",
            "q=cpu=",
            "q=weight=0",
            "q=weight=x",
        ] {
            let error = queue(wrong).expect_err(wrong).to_string();
            assert!(error.contains("= help: write the queue"), "{error}");
        }
    }
}
