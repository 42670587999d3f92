use proofmark_contract::vocabulary as fields;
use proofmark_receipt::Json;

const WORKFLOW: &str = include_str!("../../../../schemas/workflow.schema.json");
const POLICY: &str = include_str!("../../../../schemas/workflow-policy.schema.json");

/// The field lists the readers use, and where the schema lists the same.
#[test]
fn the_schemas_list_exactly_the_fields_the_readers_know() {
    let workflow = [
        ("", fields::WORKFLOW),
        ("step", fields::STEP),
        ("branch", fields::NEXT),
        ("verification", fields::VERIFICATION),
        ("evidence", fields::EVIDENCE),
        ("part", fields::PART),
        ("toolCall", fields::TOOL_CALL),
        ("receipt", fields::RECEIPT),
        ("approval", fields::APPROVAL),
        ("onFailure", fields::ON_FAILURE),
        ("tools", fields::TOOLS),
        ("toolFromThere", fields::TOOL),
        ("reviewer", fields::REVIEWER),
    ];
    let policy = [
        ("", fields::POLICY),
        ("tools", fields::TOOLS),
        ("toolFromThere", fields::TOOL),
        ("classes", fields::CLASSES),
        ("demands", fields::DEMANDS),
        ("requirement", fields::REQUIREMENT),
        ("scope", fields::SCOPE),
        ("exemption", fields::EXEMPTION),
        ("reviewer", fields::REVIEWER),
    ];
    for (text, lists) in [(WORKFLOW, &workflow[..]), (POLICY, &policy[..])] {
        let schema = Json::parse(text.as_bytes()).unwrap();
        for (definition, known) in lists {
            assert_eq!(sorted(properties(&schema, definition)), sorted(known.to_vec()), "{definition}");
        }
    }
}

#[test]
fn what_is_no_known_field_is_refused_by_the_schemas_too() {
    for text in [WORKFLOW, POLICY] {
        let schema = Json::parse(text.as_bytes()).unwrap();
        assert_eq!(open_objects(&schema, ""), Vec::<String>::new());
    }
}

fn properties<'s>(schema: &'s Json, definition: &str) -> Vec<&'s str> {
    let at = match definition {
        "" => schema,
        name => member(member(schema, "$defs"), name),
    };
    member(at, "properties").as_object().unwrap().iter().map(|(name, _)| name).collect()
}

fn member<'j>(json: &'j Json, name: &str) -> &'j Json {
    json.as_object().and_then(|object| object.get(name)).unwrap_or_else(|| panic!("no `{name}`"))
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

/// Objects with `properties` that let other fields through.
fn open_objects(json: &Json, path: &str) -> Vec<String> {
    match json {
        Json::Array(items) => items.iter().flat_map(|item| open_objects(item, path)).collect(),
        Json::Object(object) => {
            let open = object.get("properties").is_some_and(|value| value.as_object().is_some())
                && object.get("additionalProperties") != Some(&Json::from(false))
                && !path.ends_with("properties");
            let below = object.iter().flat_map(|(name, value)| open_objects(value, &format!("{path}.{name}")));
            open.then(|| path.to_owned()).into_iter().chain(below).collect()
        }
        _ => Vec::new(),
    }
}
