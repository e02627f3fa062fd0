/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/idle-rules.h"

#include "collectives/core/registry.h"
#include "scenarios/asked/collective.h"
#include "scenarios/options/format.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace scenario
{

namespace
{

bool
IsSized(const AlgorithmRule& rule)
{
    return rule.from != 0 || rule.below != UINT64_MAX;
}

} // namespace

void
NoteIdleRules(Validation* v, const CollectiveOptions& c, const std::vector<coll::Collective>& used)
{
    std::vector<bool> taken(c.algorithms.size(), false);
    for (const coll::Collective& what : used)
    {
        for (std::size_t i = c.algorithms.size(); i-- > 0;)
        {
            if (c.algorithms[i].Covers(what))
            {
                taken[i] = true;
                break; // as ChoiceOf: the last one wins
            }
        }
    }
    // One that is for all operations stands there once for each.
    std::map<std::string, std::pair<bool, std::string>> parts; // taken, or why not
    for (std::size_t i = 0; i < c.algorithms.size(); ++i)
    {
        const AlgorithmRule& rule = c.algorithms[i];
        const bool sized = IsSized(rule);
        const auto standsForAll = [&rule](const AlgorithmRule& later) {
            return later.ofAll && !IsSized(later) && later.op == rule.op;
        };
        if (rule.ofAll && !sized &&
            std::none_of(c.algorithms.begin() + i + 1, c.algorithms.end(), standsForAll))
        {
            continue; // it is for what other rules leave
        }
        std::string part = (rule.ofAll ? "" : coll::OpName(rule.op) + "=") + rule.name;
        if (sized)
        {
            part += "@" + CanonicalBytes(rule.from) + "-" +
                    (rule.below == UINT64_MAX ? "" : CanonicalBytes(rule.below));
        }
        const bool done = std::any_of(used.begin(), used.end(), [&](const auto& what) {
            return what.op == rule.op;
        });
        const std::string why = done || rule.ofAll
                                    ? "nothing of this run has such a size, or other parts win"
                                    : "this run does no " + coll::OpName(rule.op);
        bool& any = parts.try_emplace(part, std::make_pair(false, why)).first->second.first;
        any = any || taken[i];
    }
    for (const auto& [part, found] : parts)
    {
        const auto& [any, why] = found;
        if (!any)
        {
            v->notes.push_back(v->values.Where(&asked::Collective::algorithm) + ": " + part +
                               " has no effect: " + why);
        }
    }
}

} // namespace scenario
