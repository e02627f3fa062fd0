/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/tuner-record.h"

#include "collectives/registry.h"
#include "contrib/rdma/core/unit-strings.h"
#include "results/human-text.h"
#include "scenarios/options/collective/collective-options.h"
#include "scenarios/options/collective/network-choices.h"

namespace results
{

namespace
{

/// How many times as long the formula's choice takes; 1 where it is the one; 0: it did not end.
double
Gain(const scenario::MeasuredCollective& one)
{
    return one.Best().ps > 0
               ? static_cast<double>(one.Model().ps) / static_cast<double>(one.Best().ps)
               : 0;
}

/// \param seconds by formula; 0: not known
nlohmann::ordered_json
ToJson(const coll::Choice& choice, double seconds)
{
    nlohmann::ordered_json json = {{"algorithm", choice.algorithm->Name()},
                                   {"protocol", nullptr},
                                   {"channels", nullptr},
                                   {"formula_us", nullptr}};
    if (seconds > 0)
    {
        json["formula_us"] = seconds * 1e6;
    }
    if (choice.protocol)
    {
        json["protocol"] = topo::ToString(*choice.protocol);
    }
    if (choice.channels != 0)
    {
        json["channels"] = choice.channels;
    }
    return json;
}

nlohmann::ordered_json
ToJson(const scenario::TriedChoice& tried)
{
    nlohmann::ordered_json json = ToJson(tried.choice, tried.choice.seconds);
    json["time_us"] = nullptr;
    if (tried.ps > 0)
    {
        json["time_us"] = Us(tried.ps);
    }
    return json;
}

} // namespace

nlohmann::ordered_json
ToJson(const scenario::MeasuredChoices& choices)
{
    auto all = nlohmann::ordered_json::array();
    for (const scenario::NetworkChoice& one : choices.ByNetwork())
    {
        nlohmann::ordered_json json = {{"op", coll::OpName(one.what.op)},
                                       {"bytes", one.what.bytes},
                                       {"ranks", one.what.ranks},
                                       {"chosen", ToJson(one.best, one.best.seconds)},
                                       {"by_formula", ToJson(one.model, one.modelSeconds)},
                                       {"gain", nullptr}};
        if (one.modelSeconds > 0)
        {
            json["gain"] = one.modelSeconds / one.best.seconds;
        }
        all.push_back(std::move(json));
    }
    for (const scenario::MeasuredCollective& one : choices.All())
    {
        nlohmann::ordered_json json = {{"op", coll::OpName(one.what.op)},
                                       {"from_bytes", one.range.from},
                                       {"below_bytes", nullptr},
                                       {"measured_bytes", one.range.at},
                                       {"ranks", one.what.ranks},
                                       {"groups", one.groups.size()},
                                       {"chosen", ToJson(one.Best())},
                                       {"by_formula", ToJson(one.Model())},
                                       {"gain", nullptr},
                                       {"tried", nlohmann::ordered_json::array()}};
        if (one.range.below != UINT64_MAX)
        {
            json["below_bytes"] = one.range.below;
        }
        if (const double gain = Gain(one); gain > 0)
        {
            json["gain"] = gain;
        }
        for (const scenario::TriedChoice& tried : one.tried)
        {
            json["tried"].push_back(ToJson(tried));
        }
        all.push_back(std::move(json));
    }
    return all;
}

void
PrintTuner(std::ostream& os, const scenario::MeasuredChoices& choices)
{
    for (const scenario::NetworkChoice& one : choices.ByNetwork())
    {
        os << Format("%-16s ", "Tuner") << coll::OpName(one.what.op) << " of "
           << rdma::ToString(rdma::Bytes(one.what.bytes)) << ", " << one.what.ranks
           << " ranks: " << scenario::ChoiceText(one.best) << " takes "
           << HumanTime(one.best.seconds * 1e6) << " by formula";
        // Without this tuner it would be what NCCL's takes.
        if (scenario::ChoiceText(one.model) == scenario::ChoiceText(one.best))
        {
            os << ", as auto does without this tuner\n";
            continue;
        }
        os << "; without this tuner auto takes " << scenario::ChoiceText(one.model)
           << ", as NCCL does"
           << (one.modelSeconds > 0
                   ? Format(", %.2f times as long by formula", one.modelSeconds / one.best.seconds)
                   : std::string())
           << "\n";
    }
    for (const scenario::MeasuredCollective& one : choices.All())
    {
        const scenario::TriedChoice& best = one.Best();
        const scenario::TriedChoice& model = one.Model();
        os << Format("%-16s ", "Tuner") << coll::OpName(one.what.op) << " of "
           << rdma::ToString(rdma::Bytes(one.range.at)) << " and near it, " << one.what.ranks
           << " ranks: " << scenario::ChoiceText(best.choice)
           << (best.ps > 0 ? " takes " + HumanTime(Us(best.ps)) : std::string(" did not end"));
        if (&best == &model)
        {
            os << ", as by formula, of " << one.tried.size() << " measured\n";
            continue;
        }
        os << "; by formula " << scenario::ChoiceText(model.choice) << ", which takes "
           << (model.ps > 0 ? HumanTime(Us(model.ps)) + Format(", %.2f times as long", Gain(one))
                            : std::string("for ever"))
           << "\n";
    }
}

void
PrintAdvice(std::ostream& os, const scenario::CollperfScenario& scenario)
{
    if (scenario.collectives.measured)
    {
        return; // its choices are printed one by one
    }
    std::vector<coll::Collective> whats;
    for (const uint64_t bytes : scenario.sizes)
    {
        whats.push_back(scenario.CollectiveOf(bytes));
    }
    const std::string advice = scenario::NetworkAdvice(scenario.collectives,
                                                       scenario.cluster,
                                                       scenario.fabric,
                                                       {{{}, std::move(whats)}});
    if (!advice.empty())
    {
        os << Format("%-16s ", "Tuner") << advice << "\n";
    }
}

} // namespace results
