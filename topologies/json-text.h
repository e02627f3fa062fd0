/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * JSON text to a value, with the place of a mistake as a person looks for it: file, line, column. A
 * key that stands twice in one object is a mistake too: one of the two would be ignored.
 */
#ifndef TOPOLOGIES_JSON_TEXT_H
#define TOPOLOGIES_JSON_TEXT_H

#include "topologies/error.h"

#include <nlohmann/json.hpp>
#include <string>

namespace topo
{

struct JsonText
{
    nlohmann::json value;
    Error error; ///< its `file` is the place: "job.json:3:17"; without a problem the text is fine
};

/// \param what nlohmann's message of malformed JSON. \return its part after its own position:
/// "syntax error while parsing object key - ..."
std::string JsonReason(const std::string& what);

/// The byte, counted from 0, of an error that nlohmann has thrown: malformed text, or an infinite
/// number. For the latter nlohmann gives no place; the result is the first such number.
std::size_t JsonByte(const nlohmann::json::exception& error, const std::string& text);

/// Brackets outside of strings, from a byte on. \param hear where one is, and how deep the text is
/// behind it; whether to go on
template <class Hear>
void
ForEachBracket(const std::string& text, std::size_t begin, Hear hear)
{
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = begin; i < text.size(); ++i)
    {
        const char c = text[i];
        if (quoted)
        {
            i += c == '\\' ? 1 : 0;
            quoted = c != '"';
            continue;
        }
        quoted = c == '"';
        const int change = c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        depth += change;
        if (change != 0 && !hear(i, depth))
        {
            return;
        }
    }
}

/// \param file its name, for people
JsonText ParseJsonText(const std::string& text, const std::string& file);

/// The same for texts whose mistakes are told otherwise, or do not matter: a discarded value.
nlohmann::json JsonOrDiscarded(const std::string& text);

/// Whether more objects and lists are within each other than readers take.
bool IsTooDeep(const std::string& text);

} // namespace topo

#endif // TOPOLOGIES_JSON_TEXT_H
