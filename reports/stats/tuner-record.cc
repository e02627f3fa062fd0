/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/stats/tuner-record.h"

#include "collectives/core/registry.h"
#include "contrib/rdma/core/unit-strings.h"
#include "reports/base/human-text.h"
#include "reports/schema/object.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/network-choices.h"

namespace reports
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

/// A choice that was compared with others.
struct Compared
{
    coll::Choice choice;
    double seconds;                        ///< by formula; 0: not known
    std::optional<int64_t> simulated = {}; ///< ps; 0: it did not end

    static Compared Of(const scenario::TriedChoice& tried)
    {
        return {tried.choice, tried.choice.seconds, tried.ps};
    }
};

template <typename T>
std::optional<T>
IfPositive(T value)
{
    return value > 0 ? std::optional(value) : std::nullopt;
}

const Object<Compared>&
ComparedKeys()
{
    static const Object<Compared> keys(
        "Choice",
        {{"algorithm: Algorithm", [](const auto& c) { return c.choice.algorithm->Name(); }},
         {"protocol: Protocol of its messages; null: none",
          [](const auto& c) {
              return c.choice.protocol ? Json(topo::ToString(*c.choice.protocol)) : Json();
          }},
         {"channels (count): Channels; null: the algorithm's own number",
          [](const auto& c) { return IfPositive(c.choice.channels); }},
         {"formula_us (us): Time by formula; null: not known",
          [](const auto& c) { return IfPositive(c.seconds * 1e6); }},
         Key<Compared>("time_us (us): With --tuner=measured: simulated alone; null: it did not end",
                       [](const auto& c) { return IfPositive(*c.simulated); })
             .Only([](const auto& c) { return c.simulated.has_value(); })});
    return keys;
}

/// An entry of `tuner`: of --tuner=network or of --tuner=measured.
struct Tuned
{
    const scenario::NetworkChoice* network = nullptr;
    const scenario::MeasuredCollective* measured = nullptr;

    const coll::Collective& What() const
    {
        return network ? network->what : measured->what;
    }

    std::optional<double> GainOrNone() const
    {
        return measured ? IfPositive(Gain(*measured))
               : network->modelSeconds > 0
                   ? std::optional(network->modelSeconds / network->best.seconds)
                   : std::nullopt;
    }

    std::vector<Compared> Tried() const
    {
        std::vector<Compared> all;
        for (const scenario::TriedChoice& tried : measured->tried)
        {
            all.push_back(Compared::Of(tried));
        }
        return all;
    }
};

const Object<Tuned>&
TunedKeys()
{
    static const auto isNetwork = [](const Tuned& t) { return t.network != nullptr; };
    static const auto isMeasured = [](const Tuned& t) { return t.measured != nullptr; };
    static const Object<Tuned> keys{
        {"op: Operation", [](const auto& t) { return coll::OpName(t.What().op); }},
        Key<Tuned>("bytes (B): --tuner=network: the size",
                   [](const auto& t) { return t.What().bytes; })
            .Only(isNetwork),
        Key<Tuned>("from_bytes (B): --tuner=measured: smallest size of the range",
                   [](const auto& t) { return t.measured->range.from; })
            .Only(isMeasured),
        Key<Tuned>(
            "below_bytes (B): --tuner=measured: the range ends below this size; null: no end",
            [](const auto& t) { return t.measured->range.below; })
            .NullUnless([](const auto& t) { return t.measured->range.below != UINT64_MAX; })
            .Only(isMeasured),
        Key<Tuned>("measured_bytes (B): --tuner=measured: the simulated size",
                   [](const auto& t) { return t.measured->range.at; })
            .Only(isMeasured),
        {"ranks (count): Ranks of a group", [](const auto& t) { return t.What().ranks; }},
        Key<Tuned>("groups (count): --tuner=measured: groups that run it at once",
                   [](const auto& t) { return t.measured->groups.size(); })
            .Only(isMeasured),
        {"chosen: The choice",
         [](const auto& t) {
             return t.network ? Compared{t.network->best, t.network->best.seconds}
                              : Compared::Of(t.measured->Best());
         },
         ComparedKeys()},
        {"by_formula: The choice by formula, as NCCL's",
         [](const auto& t) {
             return t.network ? Compared{t.network->model, t.network->modelSeconds}
                              : Compared::Of(t.measured->Model());
         },
         ComparedKeys()},
        {"gain (ratio): Time of the formula's choice over that of the choice", &Tuned::GainOrNone},
        Key<Tuned>("tried: --tuner=measured: all that was simulated, the formula's choice first",
                   &Tuned::Tried,
                   ComparedKeys())
            .Only(isMeasured)};
    return keys;
}

using AllTuned = std::vector<Tuned>;

const Object<AllTuned> TUNER{{"tuner: With --tuner=measured: per operation and range of sizes; "
                              "with --tuner=network: per operation and size",
                              [](const AllTuned& all) -> const AllTuned& { return all; },
                              TunedKeys()}};
const RegisteredKeys g_tuner(Section::kCollectives, TUNER);

} // namespace

void
AddTo(nlohmann::ordered_json& stats, const scenario::MeasuredChoices& choices)
{
    AllTuned all;
    for (const scenario::NetworkChoice& one : choices.ByNetwork())
    {
        all.push_back({&one, nullptr});
    }
    for (const scenario::MeasuredCollective& one : choices.All())
    {
        all.push_back({nullptr, &one});
    }
    TUNER.AddTo(stats, all);
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

} // namespace reports
