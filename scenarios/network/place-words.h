/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Keys of --set that are words of SONiC's CONFIG_DB, for configurations of real switches: their
 * units and scales are SONiC's.
 */
#ifndef SCENARIOS_NETWORK_PLACE_WORDS_H
#define SCENARIOS_NETWORK_PLACE_WORDS_H

#include <string>
#include <utility>
#include <vector>

namespace scenario
{

struct PlaceWord
{
    std::string name;  ///< "green_min_threshold"
    std::string means; ///< for people
    std::string allowed;
    /// Attributes and values as ns-3 reads them; none: the text is not valid.
    std::vector<std::pair<std::string, std::string>> (*read)(const std::string& text);
};

const std::vector<PlaceWord>& PlaceWords();

} // namespace scenario

#endif // SCENARIOS_NETWORK_PLACE_WORDS_H
