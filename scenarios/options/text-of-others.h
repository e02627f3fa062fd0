/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_OPTIONS_TEXT_OF_OTHERS_H
#define SCENARIOS_OPTIONS_TEXT_OF_OTHERS_H

#include <string>
#include <vector>

namespace scenario
{

/// A text that --list=NAME prints for other programs, of code above this folder: a static object
/// there makes it known.
struct TextOfOthers
{
    TextOfOthers(std::string name, std::string title, std::string (*text)());

    static std::vector<TextOfOthers>& All();

    std::string name;
    std::string title;
    std::string (*text)();
};

} // namespace scenario

#endif // SCENARIOS_OPTIONS_TEXT_OF_OTHERS_H
