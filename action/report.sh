#!/usr/bin/env bash
# Puts the results of the steps together: one SARIF file, and a sentence in the summary.
. "${BASH_SOURCE[0]%/*}/runner.sh"

# Code scanning takes one run for each tool and category, so all results are of one run.
merge_sarif() {
  local file found=()
  for file in "$FOLDER"/*.sarif; do
    # A command that could not start leaves an empty file.
    [ ! -s "$file" ] || found+=("$file")
  done
  [ ${#found[@]} -gt 0 ] || return 0
  jq -s '.[0] * {runs: [.[0].runs[0] * {
      tool: {driver: {rules: (map(.runs[].tool.driver.rules[]) | unique)}},
      results: map(.runs[].results[])
    }]}' "${found[@]}" > "$FOLDER/merged.json"
  mv -- "$FOLDER/merged.json" "$FOLDER/proofmark.sarif"
  output sarif "$FOLDER/proofmark.sarif"
}

result=$(worse "$CHECKED" "$JUDGED")
# A step without a result could not judge.
result=${result:-error}
case $result in
  pass) summarize 'Result: **pass**.' ;;
  error) summarize 'Result: **error**: it could not be judged, which says nothing about the work.' ;;
  *) summarize "Result: **$result**." ;;
esac
output result "$result"
merge_sarif
