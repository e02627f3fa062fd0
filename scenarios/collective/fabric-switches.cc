/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/fabric-switches.h"

#include "collectives/aggregation/aggregators.h"
#include "collectives/core/registry.h"
#include "scenarios/asked/collective.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/nccl-environment.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

namespace scenario
{

namespace
{

bool
UsesFabricSwitches(coll::Op op, const std::string& name)
{
    const coll::Algorithm* algorithm = coll::Find(op, name);
    return algorithm && algorithm->Uses().fabricSwitches;
}

/// "collnet-chain, sharp": those that use them.
std::string
NamesOfUsers()
{
    std::set<std::string> names;
    for (const coll::Op op : coll::AllOps())
    {
        for (const coll::Algorithm* algorithm : coll::AlgorithmsFor(op))
        {
            if (algorithm->Uses().fabricSwitches)
            {
                names.insert(algorithm->Name());
            }
        }
    }
    return Join({names.begin(), names.end()}, ", ");
}

/// Options of switches that no collective of the run uses.
void
SayWithoutSwitches(Validation* v)
{
    // An earlier error may be why no choice asks for switches.
    const bool isValid = v->errors.empty();
    const std::string why = "no collective of this run uses switches between servers";
    for (const Member option : {Member(&asked::Collective::aggregationDelay),
                                Member(&asked::Collective::aggregationMemory),
                                Member(&asked::Collective::aggregationGroups)})
    {
        if (!v->values.Given(option))
        {
            continue;
        }
        const bool typed = v->values.Where(option) == Spell(option);
        if (isValid && typed)
        {
            v->Fail(option,
                    "has no effect: " + why + "; it belongs to " + NamesOfUsers() +
                        " on several servers (--algorithm)");
        }
        // Configurations as run have all options and have to be read again, whatever they are run
        // with, so theirs are told where they say something.
        else if (!typed && v->values.Raw(option) != v->table.Find(option)->defaultText)
        {
            v->notes.push_back(v->values.Where(option) + " has no effect: " + why);
        }
    }
}

} // namespace

bool
AsksForSwitches(const CollectiveOptions& choice, const CollectivesOfRun& run, uint32_t gpus)
{
    const auto asks = [&choice](const coll::Collective& what) {
        const coll::Algorithm* named = NamedFor(choice, what);
        return named ? named->Uses().fabricSwitches : NcclAsksForSwitches(choice.nccl, what.op);
    };
    for (const UsedBy& group : run.groups)
    {
        const bool leavesServer =
            group.ranks.empty() ||
            std::any_of(group.ranks.begin(), group.ranks.end(), [&](coll::Rank rank) {
                return rank / gpus != group.ranks.front() / gpus;
            });
        if (leavesServer && std::any_of(group.collectives.begin(), group.collectives.end(), asks))
        {
            return true;
        }
    }
    const auto named = [](const AlgorithmRule& rule) {
        return UsesFabricSwitches(rule.op, rule.name);
    };
    return run.andOthers && std::any_of(choice.algorithms.begin(), choice.algorithms.end(), named);
}

bool
LeaveSwitchesOut(CollectiveOptions* choice)
{
    bool changed = false;
    for (AlgorithmRule& rule : choice->algorithms)
    {
        if (UsesFabricSwitches(rule.op, rule.name))
        {
            rule.name = kAutoAlgorithm;
            changed = true;
        }
    }
    for (auto& [op, selection] : choice->nccl.ofOp)
    {
        auto& only = selection.only;
        const auto rest = std::remove_if(only.begin(), only.end(), [op = op](const auto& name) {
            return UsesFabricSwitches(op, name);
        });
        if (rest != only.end())
        {
            only.erase(rest, only.end());
            selection.limited = !only.empty();
            changed = true;
        }
    }
    return changed;
}

void
AddFabricSwitches(Validation* v,
                  ClusterSpec* cluster,
                  const std::vector<CollectiveOptions*>& choices,
                  const CollectivesOfRun& run)
{
    const bool asked =
        cluster->servers > 1 &&
        std::any_of(choices.begin(), choices.end(), [&](const CollectiveOptions* choice) {
            return AsksForSwitches(*choice, run, cluster->server.gpus);
        });
    if (!asked)
    {
        SayWithoutSwitches(v);
        return;
    }
    if (cluster->aggregationGroups == 0)
    {
        for (CollectiveOptions* choice : choices)
        {
            LeaveSwitchesOut(choice);
        }
        v->notes.push_back(v->values.Where(&asked::Collective::aggregationGroups) +
                           "=0: switches between servers serve nobody; what asks for them does "
                           "what --algorithm=auto does");
        return;
    }
    if (const uint32_t planes = cluster->topology.About().planes; planes > 1)
    {
        v->Fail(&asked::Collective::algorithm,
                "adds up in switches between servers, which no switch can for " +
                    std::to_string(planes) +
                    " planes; allowed: a network of one plane, or an algorithm without switches");
        return;
    }
    cluster->aggregators =
        std::make_shared<coll::Aggregators>(&cluster->topology,
                                            cluster->hostOfServer,
                                            cluster->server.nics,
                                            v->values.Get(&asked::Collective::aggregationDelay));
}

} // namespace scenario
