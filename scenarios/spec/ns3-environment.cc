/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/ns3-environment.h"

#include "contrib/rdma/core/shown-text.h"

#include <boost/algorithm/string/split.hpp>
#include <cstdlib>
#include <set>

namespace scenario
{

const char* const kNs3Variables[2] = {"NS_ATTRIBUTE_DEFAULT", "NS_GLOBAL_VALUE"};

std::vector<std::pair<std::string, std::string>>
ParseNs3Variable(const std::string& variable, const std::string& text, std::vector<Error>* errors)
{
    std::vector<std::pair<std::string, std::string>> settings;
    if (text.empty())
    {
        return settings;
    }
    const bool attributes = variable == kNs3Variables[0];
    std::vector<std::string> entries;
    boost::split(entries, text, [](char c) { return c == ';'; });
    std::set<std::string> names;
    for (const std::string& entry : entries)
    {
        const size_t equals = entry.find('=');
        const std::string name = entry.substr(0, equals);
        const bool named =
            !attributes || (name.rfind("ns3::", 0) == 0 && name.find("::", 5) != std::string::npos);
        std::string problem;
        if (equals == std::string::npos || name.empty() || !named)
        {
            problem = "'" + rdma::Shown(entry, 60) + "' is no setting; allowed: " +
                      (attributes ? "ns3::TYPE::ATTRIBUTE=VALUE" : "NAME=VALUE") +
                      ", several with ';' between them";
        }
        else if (!names.insert(name).second)
        {
            problem = "names " + rdma::Shown(name, 60) + " twice";
        }
        if (!problem.empty())
        {
            errors->push_back({variable + " of the environment", "", problem, ""});
            return {};
        }
        settings.emplace_back(name, entry.substr(equals + 1));
    }
    return settings;
}

std::vector<std::pair<std::string, std::string>>
ReadNs3Environment(std::vector<Error>* errors)
{
    std::vector<std::pair<std::string, std::string>> settings;
    for (const char* variable : kNs3Variables)
    {
        const char* text = std::getenv(variable);
        for (auto& [name, value] : ParseNs3Variable(variable, text ? text : "", errors))
        {
            settings.emplace_back(name.rfind("ns3::", 0) == 0 ? name : "ns3::" + name, value);
        }
    }
    return settings;
}

} // namespace scenario
