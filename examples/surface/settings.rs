//! A settings form with every widget.

use rejoinder::protocol::{Choice, DateMode, Day, SettingsForm, Tab, Widget, WidgetKind};

pub fn form(layout: &str) -> SettingsForm {
    if layout == "tabs" {
        let tab = |id: &str, label: &str, widget| Tab { id: id.into(), label: label.into(), inputs: vec![widget] };
        return SettingsForm::Tabs(vec![tab("one", "One", switch()), tab("two", "Two", slider())]);
    }
    let choices = |pairs: &[(&str, &str)]| {
        let choice = |(label, value): &(&str, &str)| Choice { label: (*label).into(), value: (*value).into() };
        pairs.iter().map(choice).collect::<Vec<_>>()
    };
    let text = |initial: Option<&str>, placeholder: Option<&str>, multiline| WidgetKind::TextInput {
        initial: initial.map(Into::into),
        placeholder: placeholder.map(Into::into),
        multiline,
    };
    let date =
        |mode, min_date| WidgetKind::DatePicker { mode, min_date, max_date: None, format: None, placeholder: None };
    let day = |day| Day::new(2026, 1, day);
    let some_days = day(2).zip(day(5)).map(|(from, to)| [from, to]);
    let letters = choices(&[("x", "x"), ("y", "y"), ("z", "z")]);
    SettingsForm::Widgets(vec![
        switch(),
        Widget::new("checkbox", "Checkbox", WidgetKind::Checkbox { initial: false }),
        slider(),
        Widget::new(
            "select",
            "Select",
            WidgetKind::Select { initial: Some("a".into()), items: choices(&[("a", "a"), ("b", "b")]) },
        ),
        Widget::new(
            "radio",
            "Radio",
            WidgetKind::Radio { initial: Some("r".into()), items: choices(&[("Left", "l"), ("Right", "r")]) },
        ),
        Widget::new(
            "multiselect",
            "Multiselect",
            WidgetKind::MultiSelect { initial: vec!["x".into()], items: letters },
        ),
        Widget::new("tags", "Tags", WidgetKind::Tags { initial: vec!["new".into()] }),
        Widget::new("text", "Text", text(Some("some"), Some("a text"), false)),
        Widget::new("lines", "Lines", text(None, None, true)),
        Widget::new(
            "number",
            "Number",
            WidgetKind::NumberInput { initial: Some(7.into()), placeholder: Some("a number".into()) },
        ),
        Widget::new("day", "Day", date(DateMode::Single { initial: day(2) }, day(1))),
        Widget::new("days", "Days", date(DateMode::Range { initial: some_days }, None)),
        Widget { disabled: true, ..Widget::new("off", "Off", WidgetKind::Switch { initial: false }) },
    ])
}

fn switch() -> Widget {
    Widget {
        tooltip: Some("on or off".into()),
        description: Some("a switch".into()),
        ..Widget::new("switch", "Switch", WidgetKind::Switch { initial: true })
    }
}

fn slider() -> Widget {
    let kind = WidgetKind::Slider { initial: 3.into(), min: 0.into(), max: 10.into(), step: 1.into() };
    Widget::new("slider", "Slider", kind)
}
