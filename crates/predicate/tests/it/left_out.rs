//! The cases of the suite that do not apply, and why.

use serde_json::Value as Json;

const PROTOBUF: &str = "protobuf messages, enums, wrappers and their extensions";
const EXTENSION: &str = "an optional extension library";
const CONTAINER: &str = "names resolved in a protobuf container, or with dots in them";
const DEDUCTION: &str = "static type deduction: there are no parametric types here";
const DOUBLES: &str = "doubles that round, overflow or are not numbers: decimals are exact here";
const MIXED: &str = "values of different types compared: unknown here, false there";
const LOADING: &str = "refused when loaded here, an error only when reached there";
const TRANSFORM: &str = "`transformList` and `transformMap`: not part of this language";
const ZONES: &str = "names of time zones: they would need a data base that changes";
const LOST: &str = "the converted file lost a backslash";

/// Files and sections, by the start of their full names.
const SECTIONS: [(&str, &str); 16] = [
    ("block_ext/", EXTENSION),
    ("bindings_ext/", EXTENSION),
    ("encoders_ext/", EXTENSION),
    ("math_ext/", EXTENSION),
    ("network_ext/", EXTENSION),
    ("string_ext/", EXTENSION),
    ("optionals/", EXTENSION),
    ("macros2/transformList/", TRANSFORM),
    ("macros2/transformMap/", TRANSFORM),
    ("parse/receiver_function_names/", LOADING),
    ("namespace/qualified/", CONTAINER),
    ("fields/qualified_identifier_resolution/qualified_ident", CONTAINER),
    ("fields/qualified_identifier_resolution/ident_with_longest_prefix_check", CONTAINER),
    ("fields/qualified_identifier_resolution/map_field_select", CONTAINER),
    ("type_deduction/flexible_type_parameter_assignment/", DEDUCTION),
    ("type_deduction/type_parameters/", DEDUCTION),
];

/// Single cases, by their full names.
const CASES: [(&str, &str); 44] = [
    ("basic/functions/unbound", LOADING),
    ("basic/functions/unbound_is_runtime_error", LOADING),
    ("logic/AND/short_circuit_type_left", LOADING),
    ("logic/AND/short_circuit_type_right", LOADING),
    ("logic/OR/short_circuit_type_left", LOADING),
    ("logic/OR/short_circuit_type_right", LOADING),
    ("comparisons/eq_literal/eq_map_value_mixed_types", MIXED),
    ("comparisons/in_list_literal/elem_in_mixed_type_list_cross_type", MIXED),
    ("macros/exists/list_elem_type_exhaustive", MIXED),
    ("macros/exists/map_key_type_exhaustive", MIXED),
    ("macros2/exists/list_elem_type_exhaustive", MIXED),
    ("comparisons/eq_literal/not_eq_double_nan", DOUBLES),
    ("comparisons/eq_literal/not_eq_int_double_nan", DOUBLES),
    ("comparisons/eq_literal/not_eq_uint_double_nan", DOUBLES),
    ("comparisons/ne_literal/not_ne_double_nan", DOUBLES),
    ("comparisons/ne_literal/not_ne_int_double_nan", DOUBLES),
    ("comparisons/ne_literal/not_ne_uint_double_nan", DOUBLES),
    ("comparisons/ne_literal/ne_double_nan", DOUBLES),
    ("comparisons/lt_literal/not_lt_dyn_int_big_lossy_double", DOUBLES),
    ("comparisons/lt_literal/not_lt_dyn_small_double_int", DOUBLES),
    ("comparisons/gt_literal/not_gt_dyn_int_small_lossy_double", DOUBLES),
    ("comparisons/gt_literal/not_gt_dyn_big_double_int", DOUBLES),
    ("comparisons/lte_literal/lte_dyn_int_small_lossy_double", DOUBLES),
    ("comparisons/lte_literal/lte_dyn_big_double_int", DOUBLES),
    ("comparisons/gte_literal/gte_dyn_int_big_lossy_double", DOUBLES),
    ("comparisons/gte_literal/gte_dyn_small_double_int", DOUBLES),
    ("conversions/double/int_range", DOUBLES),
    ("conversions/double/uint_range", DOUBLES),
    ("conversions/int/double_big_precision", DOUBLES),
    ("conversions/int/double_int_max_range", DOUBLES),
    ("conversions/int/double_int_min_range", DOUBLES),
    ("conversions/uint/double_big_precision", DOUBLES),
    ("fp_math/fp_math/divide_zero", DOUBLES),
    ("fp_math/fp_math/fp_overflow_positive", DOUBLES),
    ("fp_math/fp_math/fp_overflow_negative", DOUBLES),
    ("fp_math/fp_math/fp_underflow", DOUBLES),
    ("fields/qualified_identifier_resolution/qualified_identifier_resolution_unchecked", CONTAINER),
    ("parse/bytes_literals/triple_single_quoted_unescaped_punctuation", LOST),
    ("parse/bytes_literals/triple_double_quoted_unescaped_punctuation", LOST),
    ("timestamps/timestamp_selectors_tz/getDate", ZONES),
    ("timestamps/timestamp_selectors_tz/getDayOfMonth_name_pos", ZONES),
    ("timestamps/timestamp_selectors_tz/getDayOfMonth_name_neg", ZONES),
    ("timestamps/timestamp_selectors_tz/getDayOfYear", ZONES),
    ("timestamps/timestamp_selectors_tz/getMinutes", ZONES),
];

/// The full name of a case.
pub(crate) fn name(case: &Json) -> String {
    let part = |key: &str| case[key].as_str().unwrap_or_default();
    format!("{}/{}/{}", part("file"), part("section"), part("name"))
}

/// Whether a case is listed by its full name, and so known to fail.
pub(crate) fn is_single(case: &Json) -> bool {
    let name = name(case);
    CASES.iter().any(|(full, _)| *full == name)
}

/// Why a case does not apply, if it does not.
pub(crate) fn reason(case: &Json) -> Option<&'static str> {
    if case["proto"] == true {
        return Some(PROTOBUF);
    }
    if case["container"] != "" {
        return Some(CONTAINER);
    }
    if case["exp"].get("typecheck").is_some() {
        return Some(DEDUCTION);
    }
    let name = name(case);
    let section = SECTIONS.iter().find(|(start, _)| name.starts_with(start));
    let single = CASES.iter().find(|(full, _)| *full == name);
    section.or(single).map(|(_, reason)| *reason)
}
