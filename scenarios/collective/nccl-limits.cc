/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What NCCL's variables leave to choose, beside the options that were given.
 */
#include "collectives/core/registry.h"
#include "scenarios/asked/collective.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/collective/nccl-names.h"
#include "scenarios/collective/nccl-variables.h"

#include <algorithm>
#include <map>
#include <set>

namespace scenario
{

namespace
{

/// The variables whose 0 leaves an algorithm out.
std::vector<std::string>
SwitchedOffBy(const NcclLimits& nccl, const std::string& algorithm)
{
    std::vector<std::string> names;
    if (std::find(nccl.except.begin(), nccl.except.end(), algorithm) == nccl.except.end())
    {
        return names;
    }
    std::string problem;
    for (const auto& [name, value] : SplitNcclVariables(nccl.text, &problem))
    {
        const NcclVariable* variable = FindNcclVariable(name);
        if (variable && variable->use == NcclUse::kSwitch && !value.empty() &&
            value.find_first_not_of('0') == std::string::npos &&
            std::find(variable->algorithms.begin(), variable->algorithms.end(), algorithm) !=
                variable->algorithms.end())
        {
            names.push_back(name);
        }
    }
    return names;
}

/// The variables that do not concern an operation that NCCL has no function for; empty: none.
std::string
ForeignTo(coll::Op op, const NcclLimits& nccl)
{
    if (std::any_of(std::begin(kNcclFunctions),
                    std::end(kNcclFunctions),
                    [op](const NcclFunction& f) { return f.op == op; }))
    {
        return {};
    }
    const bool bounds = nccl.minChannels || nccl.maxChannels;
    if (nccl.ofOp.empty())
    {
        return bounds ? "channels" : "";
    }
    return bounds ? "algorithms, protocols and channels" : "algorithms and protocols";
}

/// Where the variables leave no algorithm, which do: "NCCL_ALGO leaves"; empty: there is one.
std::string
WhatLeavesNothing(const CollectiveOptions& options,
                  const coll::Collective& what,
                  const coll::Placement& placement)
{
    const auto has = [](const auto& list, const auto& one) {
        return std::find(list.begin(), list.end(), one) != list.end();
    };
    const NcclLimits& nccl = options.nccl;
    const NcclLimits::Selection& selection = nccl.ofOp.at(what.op);
    // If nothing is left, one that is left out.
    const coll::Algorithm& algorithm = *ChoiceOf(options, what, placement).algorithm;
    if (has(selection.except, algorithm.Name()) || (selection.limited && selection.only.empty()))
    {
        return "NCCL_ALGO leaves";
    }
    std::vector<std::string> names = SwitchedOffBy(nccl, algorithm.Name());
    const bool simple =
        selection.protocols.empty() || has(selection.protocols, topo::Protocol::kSimple);
    if (!simple && !options.protocol && options.machine.hasLibrary &&
        !coll::ProtocolsInSwitches(algorithm).empty())
    {
        names.emplace_back("NCCL_PROTO"); // algorithms that add up in switches have Simple only
    }
    return names.empty() ? "" : "NCCL_ALGO with " + Join(names, " and ") + " leaves";
}

} // namespace

bool
NcclAsksForSwitches(const NcclLimits& limits, coll::Op op)
{
    const auto limit = limits.ofOp.find(op);
    if (limit == limits.ofOp.end())
    {
        return false;
    }
    bool asks = false;
    bool doesWithout = false;
    for (const std::string& name : limit->second.only)
    {
        if (std::find(limits.except.begin(), limits.except.end(), name) != limits.except.end())
        {
            continue;
        }
        const coll::InNetwork uses = coll::Find(op, name)->Uses();
        asks = asks || uses.fabricSwitches;
        if (uses.fabricSwitches && !uses.serverSwitch)
        {
            return true;
        }
        doesWithout = doesWithout || !uses.fabricSwitches;
    }
    return asks && !doesWithout;
}

const coll::Algorithm*
NamedFor(const CollectiveOptions& options, const coll::Collective& what)
{
    const coll::Algorithm* named = nullptr;
    for (const AlgorithmRule& rule : options.algorithms)
    {
        if (rule.Covers(what))
        {
            named = coll::Find(rule.op, rule.name);
        }
    }
    return named;
}

std::string
NcclVariableAsSet(const NcclLimits& limits, const std::string& name)
{
    std::string problem;
    for (const auto& [its, value] : SplitNcclVariables(limits.text, &problem))
    {
        if (its == name)
        {
            return name + "=" + value;
        }
    }
    return {};
}

void
CheckNcclLimits(Validation* v,
                const CollectiveOptions& options,
                const std::vector<coll::Collective>& used,
                const coll::Placement& placement)
{
    const NcclLimits& nccl = options.nccl;
    std::set<std::string> notes;
    const auto tell = [&](const std::string& note) {
        if (notes.insert(note).second)
        {
            v->notes.push_back(v->values.Where(&asked::Collective::ncclEnv) + ": " + note);
        }
    };
    std::map<std::string, std::set<coll::Op>> without; // by the variables
    for (const auto& what : used)
    {
        const std::string op = coll::OpName(what.op);
        const std::string wins = v->values.Where(&asked::Collective::algorithm) + " wins over ";
        const coll::Algorithm* named = NamedFor(options, what);
        if (named)
        {
            for (const std::string& off : SwitchedOffBy(nccl, named->Name()))
            {
                tell(wins + off + "=0 for " + op);
            }
        }
        const std::string foreign = ForeignTo(what.op, nccl);
        if (!foreign.empty())
        {
            tell(foreign + " of NCCL's variables are not those of " + op +
                 ", which has no function of its own there");
        }
        const auto limit = nccl.ofOp.find(what.op);
        if (limit == nccl.ofOp.end())
        {
            continue;
        }
        const auto& selection = limit->second;
        if (!selection.limited && selection.except.empty())
        {
            continue;
        }
        if (named)
        {
            tell(wins + "NCCL_ALGO for " + op);
            continue;
        }
        const std::string by = WhatLeavesNothing(options, what, placement);
        if (!by.empty())
        {
            without[by].insert(what.op);
        }
    }
    for (const auto& [by, ops] : without)
    {
        std::vector<std::string> texts;
        for (const coll::Op op : ops)
        {
            std::vector<std::string> has;
            for (const NcclName& pair : kNcclAlgorithms)
            {
                if (coll::Find(op, pair.ours))
                {
                    has.emplace_back(pair.nccl);
                }
            }
            texts.push_back(coll::OpName(op) + " (which has " + Join(has, ", ") + ")");
        }
        v->Fail(&asked::Collective::ncclEnv,
                by + " no algorithm for " + Join(texts, ", ") +
                    ", and as in NCCL since 2.24 none is taken in its place; allowed: "
                    "\"ring;allreduce:tree\" and the like");
    }
}

} // namespace scenario
