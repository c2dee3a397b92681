//! The settings form and its widgets (chat-wire 5.9).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::Day;

/// The settings form: an array on the wire always, since a page that gets anything else goes white.
///
/// Widgets or tabs, never both: a page that has tabs does not show a loose widget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingsForm {
    /// One list of widgets.
    Widgets(Vec<Widget>),
    /// Widgets in tabs. Frontends of npm 0.3.0 do not show them.
    Tabs(Vec<Tab>),
}

/// A tab of the form. One without widgets is not shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tab {
    /// Its identity.
    pub id: String,
    /// What is on it.
    pub label: String,
    /// What is in it.
    pub inputs: Vec<Widget>,
}

/// A field of the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Widget {
    /// What its value is called; unique over all tabs.
    pub id: String,
    /// What stands beside it.
    pub label: String,
    /// Shown on hovering.
    #[serde(default)]
    pub tooltip: Option<String>,
    /// Shown below the label.
    #[serde(default)]
    pub description: Option<String>,
    /// Whether it is shown and cannot be changed.
    #[serde(default)]
    pub disabled: bool,
    /// The kind with its own keys, `initial` among them.
    #[serde(flatten)]
    pub kind: WidgetKind,
}

/// The kinds of field. `initial` is what the field shows first and has the type of its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum WidgetKind {
    /// On or off; gives a truth value.
    Switch {
        /// On or off.
        initial: bool,
    },
    /// Ticked or not; gives a truth value.
    Checkbox {
        /// Ticked or not.
        initial: bool,
    },
    /// A number within bounds; gives a number.
    Slider {
        /// Where it stands.
        initial: Number,
        /// The least.
        min: Number,
        /// The most.
        max: Number,
        /// From one to the next.
        step: Number,
    },
    /// One of a list that opens; gives a text.
    Select {
        /// The value of an item.
        initial: Option<String>,
        /// What there is to choose.
        items: Vec<Choice>,
    },
    /// One of a list that is open; gives a text.
    Radio {
        /// The value of an item.
        initial: Option<String>,
        /// What there is to choose.
        items: Vec<Choice>,
    },
    /// Some of a list; gives texts.
    MultiSelect {
        /// Values of items.
        initial: Vec<String>,
        /// What there is to choose.
        items: Vec<Choice>,
    },
    /// Words that people type; gives texts.
    Tags {
        /// Words that are there.
        initial: Vec<String>,
    },
    /// A text; gives a text, null for an empty one that was confirmed.
    TextInput {
        /// The text.
        initial: Option<String>,
        /// Shown while it is empty.
        #[serde(default)]
        placeholder: Option<String>,
        /// Whether it has lines.
        #[serde(default)]
        multiline: bool,
    },
    /// A number that is typed; gives the **text** that was typed.
    NumberInput {
        /// The number.
        initial: Option<Number>,
        /// Shown while it is empty.
        #[serde(default)]
        placeholder: Option<String>,
    },
    /// A day or two; gives moments, see [`Day`], or nothing at all.
    DatePicker {
        /// One day or from one to another.
        #[serde(flatten)]
        mode: DateMode,
        /// No day before this.
        #[serde(default)]
        min_date: Option<Day>,
        /// No day after this.
        #[serde(default)]
        max_date: Option<Day>,
        /// How a day is written, a pattern of date-fns.
        #[serde(default)]
        format: Option<String>,
        /// Shown while it is empty.
        #[serde(default)]
        placeholder: Option<String>,
    },
}

/// What a date picker picks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum DateMode {
    /// One day.
    Single {
        /// The day.
        initial: Option<Day>,
    },
    /// From one day to another.
    Range {
        /// First and last.
        initial: Option<[Day; 2]>,
    },
}

/// One thing to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What is shown.
    pub label: String,
    /// What is given back.
    pub value: String,
}

impl Widget {
    /// An enabled field without explanations.
    #[must_use]
    pub fn new(id: impl Into<String>, label: impl Into<String>, kind: WidgetKind) -> Self {
        Self { id: id.into(), label: label.into(), tooltip: None, description: None, disabled: false, kind }
    }
}

impl WidgetKind {
    /// What the field shows first, as it is on the wire. Null is a field without a value.
    #[must_use]
    pub fn initial(&self) -> Value {
        let day = |day: &Day| Value::from(day.to_string());
        match self {
            Self::Switch { initial } | Self::Checkbox { initial } => (*initial).into(),
            Self::Slider { initial, .. } => initial.clone().into(),
            Self::Select { initial, .. } | Self::Radio { initial, .. } | Self::TextInput { initial, .. } => {
                initial.clone().into()
            }
            Self::MultiSelect { initial, .. } | Self::Tags { initial } => initial.clone().into(),
            Self::NumberInput { initial, .. } => initial.clone().map_or(Value::Null, Value::Number),
            Self::DatePicker { mode: DateMode::Single { initial }, .. } => initial.as_ref().map(day).into(),
            Self::DatePicker { mode: DateMode::Range { initial }, .. } => {
                initial.as_ref().map(|days| days.iter().map(day).collect::<Vec<_>>()).into()
            }
        }
    }
}

impl WidgetKind {
    /// The same field with another value in it; `None` when the value does not fit.
    fn starting_with(&self, value: &Value) -> Option<Self> {
        let mut parts = serde_json::to_value(self).ok()?;
        // A number field gives back the text that was typed.
        let typed = match (self, value) {
            (Self::NumberInput { .. }, Value::String(text)) => Some(Value::Number(text.trim().parse().ok()?)),
            _ => None,
        };
        *parts.get_mut("initial")? = typed.unwrap_or_else(|| value.clone());
        serde_json::from_value(parts).ok()
    }
}

impl SettingsForm {
    /// Every field, those in tabs too, in the order of the form.
    pub fn widgets(&self) -> impl Iterator<Item = &Widget> {
        let (loose, tabs): (&[Widget], &[Tab]) = match self {
            Self::Widgets(widgets) => (widgets, &[]),
            Self::Tabs(tabs) => (&[], tabs),
        };
        loose.iter().chain(tabs.iter().flat_map(|tab| &tab.inputs))
    }

    /// Lets each field show first what it has in `values`. A value that does not fit its field changes nothing.
    pub fn start_with(&mut self, values: &Map<String, Value>) {
        let widgets: Vec<&mut Widget> = match self {
            Self::Widgets(widgets) => widgets.iter_mut().collect(),
            Self::Tabs(tabs) => tabs.iter_mut().flat_map(|tab| &mut tab.inputs).collect(),
        };
        for widget in widgets {
            if let Some(kind) = values.get(&widget.id).and_then(|value| widget.kind.starting_with(value)) {
                widget.kind = kind;
            }
        }
    }

    /// What the form shows first, by the ids of the fields: the settings of somebody who has changed nothing. Of two
    /// fields with one id the last counts.
    #[must_use]
    pub fn initial(&self) -> Map<String, Value> {
        self.widgets().map(|widget| (widget.id.clone(), widget.kind.initial())).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn number(value: f64) -> Number {
        Number::from_f64(value).unwrap()
    }

    /// One field of every kind.
    fn every_kind() -> Vec<Widget> {
        let items =
            vec![Choice { label: "A".into(), value: "a".into() }, Choice { label: "B".into(), value: "b".into() }];
        let picker = |mode| WidgetKind::DatePicker {
            mode,
            min_date: Day::new(2026, 1, 1),
            max_date: None,
            format: Some("yyyy".into()),
            placeholder: None,
        };
        let range = [Day::new(2026, 1, 2).unwrap(), Day::new(2026, 1, 5).unwrap()];
        let kinds = [
            ("switch", WidgetKind::Switch { initial: true }),
            ("checkbox", WidgetKind::Checkbox { initial: false }),
            ("slider", WidgetKind::Slider { initial: number(0.5), min: 0.into(), max: 2.into(), step: number(0.1) }),
            ("select", WidgetKind::Select { initial: Some("a".into()), items: items.clone() }),
            ("radio", WidgetKind::Radio { initial: None, items: items.clone() }),
            ("multiselect", WidgetKind::MultiSelect { initial: vec!["a".into(), "b".into()], items }),
            ("tags", WidgetKind::Tags { initial: vec!["x".into()] }),
            ("textinput", WidgetKind::TextInput { initial: None, placeholder: Some("…".into()), multiline: true }),
            ("numberinput", WidgetKind::NumberInput { initial: Some(7.into()), placeholder: None }),
            ("datepicker", picker(DateMode::Single { initial: None })),
            ("range", picker(DateMode::Range { initial: Some(range) })),
        ];
        kinds.into_iter().map(|(id, kind)| Widget::new(id, id.to_uppercase(), kind)).collect()
    }

    fn tabs() -> SettingsForm {
        let mut widgets = every_kind();
        widgets[0].tooltip = Some("t".into());
        widgets[0].description = Some("d".into());
        widgets[0].disabled = true;
        let second = widgets.split_off(1);
        let tab = |id: &str, inputs| Tab { id: id.into(), label: id.to_uppercase(), inputs };
        SettingsForm::Tabs(vec![tab("one", widgets), tab("two", second), tab("three", Vec::new())])
    }

    #[test]
    fn every_widget_on_the_wire() {
        insta::assert_json_snapshot!(SettingsForm::Widgets(every_kind()));
    }

    #[test]
    fn tabs_on_the_wire() {
        let widgets = every_kind().into_iter().take(1).collect();
        insta::assert_json_snapshot!(SettingsForm::Tabs(vec![Tab {
            id: "t".into(),
            label: "T".into(),
            inputs: widgets
        }]));
    }

    #[test]
    fn a_form_is_an_array_even_when_it_is_empty() {
        for form in [SettingsForm::Widgets(Vec::new()), SettingsForm::Tabs(Vec::new())] {
            assert_eq!(serde_json::to_value(form).unwrap(), json!([]));
        }
    }

    #[test]
    fn a_form_reads_as_it_was_written() {
        for form in [SettingsForm::Widgets(every_kind()), tabs()] {
            let read: SettingsForm = serde_json::from_value(serde_json::to_value(&form).unwrap()).unwrap();
            assert_eq!(read, form);
        }
    }

    #[test]
    fn a_form_starts_with_values_that_fit() {
        let mut form = tabs();
        let values = json!({"switch": false, "select": "b", "numberinput": "12.5", "slider": "no number", "tags": ["y"],
            "datepicker": "2026-01-01T23:00:00Z", "textinput": null, "unknown": 1});
        form.start_with(values.as_object().unwrap());
        let initial = form.initial();
        assert_eq!((&initial["switch"], &initial["select"]), (&json!(false), &json!("b")));
        assert_eq!((&initial["numberinput"], &initial["slider"]), (&json!(12.5), &json!(0.5)));
        assert_eq!((&initial["tags"], &initial["datepicker"]), (&json!(["y"]), &json!("2026-01-01T23:00:00Z")));
    }

    #[test]
    fn initial_values_by_id_and_the_same_in_tabs() {
        let loose = SettingsForm::Widgets(every_kind()).initial();
        assert_eq!(loose, tabs().initial());
        // What is announced and what is sent can never differ.
        let sent = serde_json::to_value(every_kind()).unwrap();
        for widget in sent.as_array().unwrap() {
            assert_eq!(loose[widget["id"].as_str().unwrap()], widget["initial"]);
        }
    }
}
