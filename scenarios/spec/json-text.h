/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * JSON text to a value, with the place of a mistake as a person looks for it: file, line, column. A
 * key that stands twice in one object is a mistake too: one of the two would be ignored.
 */
#ifndef SCENARIOS_SPEC_JSON_TEXT_H
#define SCENARIOS_SPEC_JSON_TEXT_H

#include <nlohmann/json.hpp>
#include <string>

namespace scenario
{

struct JsonText
{
    nlohmann::json value;
    std::string error; ///< "job.json:3:17: ..."; empty if the text is fine
};

JsonText ParseJsonText(const std::string& text, const std::string& origin);

} // namespace scenario

#endif // SCENARIOS_SPEC_JSON_TEXT_H
