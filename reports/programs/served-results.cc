/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/programs/served-results.h"

#include "reports/base/human-text.h"
#include "reports/schema/object.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace reports
{

namespace
{

/// A distribution of whole numbers: the count of each.
struct Distribution
{
    explicit Distribution(const std::map<uint64_t, uint64_t>& of)
        : counts(of)
    {
        for (const auto& [value, count] : counts)
        {
            total += count;
            sum += static_cast<double>(value) * static_cast<double>(count);
        }
    }

    double Mean() const
    {
        return sum / static_cast<double>(total);
    }

    /// The least value that so large a share of all does not exceed.
    uint64_t Quantile(double share) const
    {
        uint64_t below = 0;
        for (const auto& [value, count] : counts)
        {
            below += count;
            if (static_cast<double>(below) >= share * static_cast<double>(total))
            {
                return value;
            }
        }
        return 0;
    }

    const std::map<uint64_t, uint64_t>& counts;
    uint64_t total = 0;
    double sum = 0;
};

double
MeanOf(const std::vector<uint64_t>& values)
{
    return static_cast<double>(std::accumulate(values.begin(), values.end(), uint64_t{0})) /
           static_cast<double>(values.size());
}

double
Gbps(double bytes, double us)
{
    return us > 0 ? 8e-3 * bytes / us : 0;
}

} // namespace

namespace
{

/// What the keys are made of.
struct Served
{
    const training::ServedPlan& plan;
    const workload::ServedStatistics& of;
    double us;

    training::Strategy Strategy() const
    {
        return plan.Options().strategy;
    }
};

using Bytes = std::vector<uint64_t>; ///< of each server

struct ServerLoad
{
    const Bytes& bytes;
    double us;
};

const Object<Distribution>&
StalenessKeys()
{
    static const auto any = [](const Distribution& of) { return of.total > 0; };
    static const auto quantile = [](const char* words, double share) {
        return Key<Distribution>(words,
                                 [share](const Distribution& of) { return of.Quantile(share); })
            .NullUnless(any);
    };
    static const Object<Distribution> keys{
        Key<Distribution>("mean (count): Mean over the gradients of all shards",
                          &Distribution::Mean)
            .NullUnless(any),
        quantile("p50 (count): 50% of the gradients have at most this", 0.5),
        quantile("p99 (count): 99% of the gradients have at most this", 0.99),
        quantile("max (count): The largest", 1),
        {"histogram: Pairs: updates by others, number of gradients", [](const auto& of) {
             Json pairs = Json::array();
             for (const auto& [value, count] : of.counts)
             {
                 pairs.push_back({value, count});
             }
             return pairs;
         }}};
    return keys;
}

Key<Served>
LoadKey(const char* words, Bytes workload::ServedStatistics::*bytes)
{
    static const Object<ServerLoad> keys{
        {"mean (=): Mean over the servers",
         [](const auto& l) { return Gbps(MeanOf(l.bytes), l.us); }},
        {"max (=): The busiest server", [](const auto& l) {
             return Gbps(static_cast<double>(*std::max_element(l.bytes.begin(), l.bytes.end())),
                         l.us);
         }}};
    return {words, [bytes](const Served& s) { return ServerLoad{s.of.*bytes, s.us}; }, keys};
}

const Served&
Whole(const Served& served)
{
    return served;
}

const Object<Served> SERVERS{
    {"shards (count): Servers, each of one shard, beside a GPU",
     [](const auto& s) { return s.plan.Shards(); }},
    {"gradients_applied (count): Gradients of a shard that went into its parameters",
     [](const auto& s) { return s.of.applied; }},
    {"gradients_dropped (count): Gradients of a shard that came too late (backup workers)",
     [](const auto& s) { return s.of.dropped; }},
    LoadKey("received_gbps (Gb/s): Gradients that a server receives from other GPUs",
            &workload::ServedStatistics::received),
    LoadKey("sent_gbps (Gb/s): Parameters that a server sends to other GPUs",
            &workload::ServedStatistics::sent)};

/// Of the replicas.
struct Rounds
{
    const std::vector<uint64_t>& of;
};

const Object<Rounds> ROUNDS{
    {"min (count): The replica with fewest",
     [](const auto& r) { return *std::min_element(r.of.begin(), r.of.end()); }},
    {"mean (count): Mean over the replicas", [](const auto& r) { return MeanOf(r.of); }},
    {"max (count): The replica with most",
     [](const auto& r) { return *std::max_element(r.of.begin(), r.of.end()); }}};

const Object<Served> PIECES{{"per_batch (count): Pieces of a batch: micro-batches of all replicas",
                             [](const auto& s) { return s.plan.Pieces(); }},
                            {"begun (count): Pieces that replicas ended, or were stopped in",
                             [](const auto& s) { return s.of.pieces; }},
                            {"given_twice (count): Backup tasks: given to a second replica, too",
                             [](const auto& s) { return s.of.backups; }},
                            {"in_vain (count): Of those begun: another replica's result was first",
                             [](const auto& s) { return s.of.wasted; }}};

const Object<Distribution> STALENESS{
    {"staleness (count): Updates that a gradient misses: of other replicas (downpour), of its "
     "stage (pipedream)",
     [](const Distribution& of) -> const Distribution& { return of; },
     StalenessKeys()}};
const RegisteredKeys g_staleness(Section::kServers, STALENESS);

const Object<Served> SERVED{
    {"strategy: --strategy; a step is as much work as all replicas do in a synchronous one",
     [](const auto& s) { return training::StrategyName(s.Strategy()); }},
    {"parameter_servers: The servers in the measured steps", Whole, SERVERS},
    {"replica_rounds (count): Steps that a replica ended in the measured time (sandblaster: "
     "pieces)",
     [](const auto& s) { return Rounds{s.of.roundsOf}; },
     ROUNDS},
    Key<Served>("pieces: sandblaster: pieces of batches that were handed out", Whole, PIECES)
        .Only([](const auto& s) { return s.Strategy() == training::Strategy::kSandblaster; })};
const RegisteredKeys g_served(Section::kServers, SERVED);

} // namespace

void
AddStaleness(nlohmann::ordered_json& stats, const std::map<uint64_t, uint64_t>& counts)
{
    STALENESS.AddTo(stats, Distribution(counts));
}

void
AddServers(nlohmann::ordered_json& stats,
           const training::ServedPlan& plan,
           const workload::ServedStatistics& served,
           double us)
{
    SERVED.AddTo(stats, {plan, served, us});
    if (plan.Options().strategy == training::Strategy::kDownpour)
    {
        AddStaleness(stats, served.staleness);
    }
}

const Shape&
ServerWords()
{
    static const JoinedKeys words({&SERVED, &STALENESS});
    return words;
}

void
PrintServers(std::ostream& os,
             const training::ServedPlan& plan,
             const workload::ServedStatistics& served,
             double us)
{
    const auto largest = [us](const std::vector<uint64_t>& bytes) {
        return Gbps(static_cast<double>(*std::max_element(bytes.begin(), bytes.end())), us);
    };
    const auto& rounds = served.roundsOf;
    const bool sandblaster = plan.Options().strategy == training::Strategy::kSandblaster;
    os << Format("Parameter servers      %u, a shard receives %.4g Gb/s and sends %.4g (mean), at "
                 "most %.4g and %.4g\n",
                 plan.Shards(),
                 Gbps(MeanOf(served.received), us),
                 Gbps(MeanOf(served.sent), us),
                 largest(served.received),
                 largest(served.sent))
       << "  gradients            " << HumanCount(served.applied) << " applied to shards, "
       << HumanCount(served.dropped) << " dropped\n"
       << Format("  replicas             %s to %s %s each\n",
                 HumanCount(*std::min_element(rounds.begin(), rounds.end())).c_str(),
                 HumanCount(*std::max_element(rounds.begin(), rounds.end())).c_str(),
                 sandblaster ? "pieces" : "steps");
    if (sandblaster)
    {
        os << "  pieces               " << HumanCount(served.pieces) << " begun, "
           << HumanCount(served.backups) << " given twice, " << HumanCount(served.wasted)
           << " in vain\n";
    }
    if (const Distribution of(served.staleness); of.total > 0)
    {
        os << Format(
            "  staleness            %.4g updates by others (mean), p50 %s, p99 %s, max %s\n",
            of.Mean(),
            HumanCount(of.Quantile(0.5)).c_str(),
            HumanCount(of.Quantile(0.99)).c_str(),
            HumanCount(of.Quantile(1)).c_str());
    }
    os << "\n";
}

} // namespace reports
