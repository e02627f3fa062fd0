// SPDX-License-Identifier: GPL-2.0-only
#ifndef TESTS_UNIT_SCENARIOS_PARSE_WORDS_H
#define TESTS_UNIT_SCENARIOS_PARSE_WORDS_H

#include "scenarios/startup/parse.h"

#include <sstream>
#include <string>
#include <vector>

namespace scenario
{

/// What a dry run makes of these options, with spaces between them.
template <class T>
ParseResult<T>
ParseWords(const std::string& options)
{
    std::istringstream in(options + " --dry-run");
    std::vector<std::string> words{"program"};
    for (std::string word; in >> word;)
    {
        words.push_back(word);
    }
    std::vector<const char*> argv;
    for (const auto& word : words)
    {
        argv.push_back(word.c_str());
    }
    return ParseAs<T>(static_cast<int>(argv.size()), argv.data());
}

} // namespace scenario

#endif // TESTS_UNIT_SCENARIOS_PARSE_WORDS_H
