/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Variables: NCCL user guide, "Environment Variables"
 * (docs.nvidia.com/deeplearning/nccl/user-guide/ docs/env.html). A list for an operation,
 * "ring;allreduce:tree", is NCCL 2.24's.
 */
#include "collectives/core/registry.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/collective.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/collective/nccl-names.h"
#include "scenarios/layout-search/launch-flags.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace planner
{

namespace
{

using scenario::Values;

std::string
InLowerCase(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return text;
}

/// NCCL's name of one of ours; empty: it has none.
template <std::size_t N>
std::string
NcclNameOf(const scenario::NcclName (&table)[N], const std::string& ours)
{
    const auto at = std::find_if(std::begin(table), std::end(table), [&ours](const auto& name) {
        return ours == name.ours;
    });
    return at == std::end(table) ? "" : at->nccl;
}

/// "Ring" of "ring", "allreduce:Ring" of "all_reduce=ring"; empty: NCCL cannot be told.
std::string
NcclChoice(const std::string& word)
{
    const std::size_t equals = word.find('=');
    const std::string name =
        NcclNameOf(scenario::kNcclAlgorithms,
                   equals == std::string::npos ? word : word.substr(equals + 1));
    if (equals == std::string::npos || name.empty())
    {
        return name;
    }
    const auto op = coll::ParseOp(word.substr(0, equals));
    const auto* const function =
        std::find_if(std::begin(scenario::kNcclFunctions),
                     std::end(scenario::kNcclFunctions),
                     [&op](const scenario::NcclFunction& each) { return op && each.op == *op; });
    return function == std::end(scenario::kNcclFunctions)
               ? ""
               : InLowerCase(function->name) + ":" + name;
}

/// NCCL_ALGO of --algorithm; what it cannot say is a note.
std::string
AlgorithmsOf(const Values& given, std::vector<std::string>* notes)
{
    std::vector<std::string> choices;
    for (const std::string& word : given.Get(&scenario::asked::Collective::algorithm))
    {
        const std::string choice = NcclChoice(word);
        if (!choice.empty())
        {
            choices.push_back(choice);
        }
        else if (word != "auto")
        {
            notes->push_back("NCCL has no variable for --algorithm=" + word);
        }
    }
    // What holds for all operations stands first.
    std::stable_partition(choices.begin(), choices.end(), [](const std::string& choice) {
        return choice.find(':') == std::string::npos;
    });
    std::string text;
    for (const std::string& choice : choices)
    {
        text += (text.empty() ? "" : ";") + choice;
    }
    return text;
}

} // namespace

std::vector<std::string>
NcclNotes(const Values& given)
{
    std::vector<std::string> notes;
    std::string variables;
    const auto add = [&variables](const std::string& name, const std::string& value) {
        variables += value.empty() ? "" : " " + name + "=" + value;
    };
    if (given.Given(&scenario::asked::Collective::ncclEnv))
    {
        const std::string& text = given.Get(&scenario::asked::Collective::ncclEnv);
        std::string problem;
        if (text.find('=') == std::string::npos)
        {
            add("NCCL_CONF_FILE", text == "environment" ? "" : text);
        }
        else
        {
            for (const auto& [name, value] : scenario::SplitNcclVariables(text, &problem))
            {
                add(name, value);
            }
        }
    }
    if (given.Given(&scenario::asked::Collective::algorithm))
    {
        add("NCCL_ALGO", AlgorithmsOf(given, &notes));
    }
    if (given.Given(&scenario::asked::Collective::protocol))
    {
        add("NCCL_PROTO",
            NcclNameOf(scenario::kNcclProtocols,
                       given.Get(&scenario::asked::Collective::protocol)));
    }
    for (const auto& [option, name] :
         {std::pair("channels", "NCCL_MIN_CTAS"),
          std::pair("channels", "NCCL_MAX_CTAS"),
          std::pair("qps-per-connection", "NCCL_IB_QPS_PER_CONNECTION"),
          std::pair("timeout-exponent", "NCCL_IB_TIMEOUT"),
          std::pair("retry-count", "NCCL_IB_RETRY_CNT")})
    {
        add(name, given.Given(option) ? std::to_string(given.Integer(option)) : "");
    }
    if (given.Given(&scenario::asked::Cluster::splitDataOnQps))
    {
        add("NCCL_IB_SPLIT_DATA_ON_QPS",
            given.Get(&scenario::asked::Cluster::splitDataOnQps) ? "1" : "0");
    }
    if (!variables.empty())
    {
        notes.insert(notes.begin(), "NCCL needs" + variables + " in its environment");
    }
    return notes;
}

} // namespace planner
