/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/nccl-environment.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/collective.h"
#include "scenarios/collective/nccl-reader.h"
#include "scenarios/collective/nccl-variables.h"
#include "topologies/family.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>

extern char** environ; // POSIX

namespace scenario
{

namespace
{

NcclVariables
ReadEnvironment()
{
    NcclVariables variables;
    for (char** entry = environ; entry && *entry; ++entry)
    {
        const std::string text = *entry;
        const auto equals = text.find('=');
        if (text.rfind(kNcclPrefix, 0) == 0 && equals != std::string::npos)
        {
            variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
        }
    }
    std::sort(variables.begin(), variables.end()); // the environment has no order
    return variables;
}

/// As --nccl-env takes it.
std::string
TextOf(const NcclVariables& variables)
{
    std::vector<std::string> parts;
    for (const auto& [name, value] : variables)
    {
        parts.push_back(name + "=" + value);
    }
    return Join(parts, ",");
}

} // namespace

NcclVariables
SplitNcclVariables(const std::string& text, std::string* problem)
{
    NcclVariables variables;
    std::string rest = text;
    while (!rest.empty())
    {
        const auto next = rest.find(std::string(",") + kNcclPrefix);
        const std::string one = rest.substr(0, next);
        rest = next == std::string::npos ? "" : rest.substr(next + 1);
        const auto equals = one.find('=');
        if (equals == std::string::npos || equals == 0)
        {
            *problem = "'" + rdma::Shown(one, 60) + "' is no NAME=VALUE";
            return {};
        }
        variables.emplace_back(boost::trim_copy(one.substr(0, equals)),
                               boost::trim_copy(one.substr(equals + 1)));
    }
    return variables;
}

NcclVariables
ParseNcclFile(const std::string& text, std::string* problem)
{
    NcclVariables variables;
    if (text.size() > kLargestNcclFile)
    {
        *problem = "is larger than 1 MiB";
        return {};
    }
    static const std::string mark = "\xEF\xBB\xBF"; // the mark of UTF-8, which some editors write
    const std::string body = text.rfind(mark, 0) == 0 ? text.substr(mark.size()) : text;
    std::vector<std::string> lines;
    boost::split(lines, body, boost::is_any_of("\n"));
    for (std::size_t i = 0; i < lines.size(); ++i)
    {
        const std::string line = boost::trim_copy(lines[i]);
        if (line.empty() || line[0] == '#')
        {
            continue;
        }
        const auto equals = line.find('=');
        if (equals == std::string::npos || equals == 0)
        {
            *problem = "line " + std::to_string(i + 1) + ": '" + rdma::Shown(line, 60) +
                       "' is no NAME=VALUE";
            return {};
        }
        variables.emplace_back(boost::trim_copy(line.substr(0, equals)),
                               boost::trim_copy(line.substr(equals + 1)));
    }
    return variables;
}

std::vector<Option>
NcclOptionRows()
{
    return {Section{"/collectives", "Collectives"}
                .Text("nccl-env",
                      "NCCL's variables as presets of these options: NAME=VALUE,..., a file like "
                      "nccl.conf, or environment; options that are given win (--help=nccl-env)")
                .As(&asked::Collective::ncclEnv)
                .Shows("NAME=VALUE,...|FILE|environment")
                .Otherwise("none")
                .Example("NCCL_ALGO=ring,NCCL_PROTO=LL,Simple")};
}

NameList
NcclVariableList()
{
    return {"nccl-env", "NCCL's variables (--nccl-env) and what they do here", [] {
                std::vector<NamedItem> items;
                for (const auto& variable : AllNcclVariables())
                {
                    items.push_back({variable.name, Describe(variable)});
                }
                return items;
            }};
}

NcclLimits
ApplyNcclVariables(Validation* v)
{
    NcclLimits limits;
    if (!v->values.Given(&asked::Collective::ncclEnv))
    {
        return limits;
    }
    const std::string given = v->values.Get(&asked::Collective::ncclEnv);
    NcclVariables variables;
    std::string problem;
    if (given == kNcclEnvironment)
    {
        variables = ReadEnvironment();
    }
    else if (given.find('=') != std::string::npos)
    {
        variables = SplitNcclVariables(given, &problem);
    }
    else
    {
        std::vector<topo::Error> errors;
        const auto text = topo::ReadWholeFile(given, errors);
        if (!text)
        {
            v->Fail(&asked::Collective::ncclEnv,
                    (errors.empty() ? "cannot be read" : errors[0].problem) +
                        "; allowed: NAME=VALUE,..., a file, or environment");
            return limits;
        }
        variables = ParseNcclFile(*text, &problem);
    }
    if (!problem.empty())
    {
        v->Fail(&asked::Collective::ncclEnv,
                problem + "; allowed: NCCL_ALGO=ring,NCCL_PROTO=Simple and the like");
        return limits;
    }
    TakeNcclVariables(v, variables, &limits);
    limits.text = TextOf(variables);
    // The configuration as run has the variables that were set, whatever their source.
    if (limits.text.empty())
    {
        v->notes.push_back(v->values.Where(&asked::Collective::ncclEnv) + "=" + given +
                           " has no variable of NCCL");
        v->values.Slot(&asked::Collective::ncclEnv).present = false;
    }
    else
    {
        v->Decide(&asked::Collective::ncclEnv, limits.text);
    }
    return limits;
}

} // namespace scenario
