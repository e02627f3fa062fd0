/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/launch/ns3-environment.h"

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/job/scenario.h"
#include "topologies/names.h"

#include <algorithm>
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

std::map<std::string, std::string>
Ns3SettingsOf(const RunOptions& run)
{
    std::map<std::string, std::string> all;
    for (const auto* settings : {&run.environment, &run.attributes})
    {
        for (const auto& [name, value] : *settings)
        {
            all[name] = value;
        }
    }
    for (const std::string& argument : run.ns3Arguments)
    {
        const auto equals = argument.find('=');
        if (argument.rfind("--ns3::", 0) == 0 && equals != std::string::npos)
        {
            all[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
        }
    }
    return all;
}

std::string
CheckNs3Log(const std::string& text, const std::vector<std::string>& components)
{
    // ns-3.37, src/core/model/log.cc: CheckEnvironmentVariables().
    static const std::vector<std::string> levels{"error",       "warn",         "debug",
                                                 "info",        "function",     "logic",
                                                 "all",         "prefix_func",  "func",
                                                 "prefix_time", "time",         "prefix_node",
                                                 "node",        "prefix_level", "level",
                                                 "prefix_all",  "level_error",  "level_warn",
                                                 "level_debug", "level_info",   "level_function",
                                                 "level_logic", "level_all",    "*",
                                                 "**"};
    if (text.empty())
    {
        return {};
    }
    const auto is = [](const std::string& one, const std::vector<std::string>& known) {
        return std::find(known.begin(), known.end(), one) != known.end();
    };
    const auto wrong =
        [](const std::string& shown, const std::string& problem, const std::string& nearest) {
            return Error{"environment: NS_LOG", rdma::Shown(shown, 100), problem, nearest}.Text();
        };
    std::vector<std::string> entries;
    boost::split(entries, text, [](char c) { return c == ':'; });
    for (const std::string& entry : entries)
    {
        const size_t equals = entry.find('=');
        const std::string name = entry.substr(0, equals);
        const bool every = name == "*" || (name == "***" && equals == std::string::npos);
        if (!every && !is(name, components))
        {
            return wrong(
                entry,
                "there is no log component '" + rdma::Shown(name, 60) +
                    "'; allowed: NAME=LEVEL|LEVEL..., several with ':' between them, * for "
                    "every component, or print-list, which lists them",
                rdma::NearestName(name, components));
        }
        std::vector<std::string> given;
        if (equals != std::string::npos)
        {
            const std::string list = entry.substr(equals + 1);
            boost::split(given, list, [](char c) { return c == '|'; });
        }
        for (const std::string& level : given)
        {
            if (!is(level, levels))
            {
                return wrong(
                    entry,
                    "there is no log level '" + rdma::Shown(level, 60) +
                        "'; allowed: error, warn, debug, info, function, logic or all, alone "
                        "or from level_... on, and prefix_func, prefix_time, prefix_node, "
                        "prefix_level, prefix_all",
                    rdma::NearestName(level, levels));
            }
        }
    }
    return {};
}

} // namespace scenario
