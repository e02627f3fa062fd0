/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/served-results.h"

#include "results/human-text.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace results
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

nlohmann::ordered_json
StalenessToJson(const std::map<uint64_t, uint64_t>& counts)
{
    nlohmann::ordered_json staleness;
    const Distribution of(counts);
    const bool any = of.total > 0;
    const auto number = [any](auto value) {
        return any ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    staleness["mean"] = number(any ? of.Mean() : 0);
    staleness["p50"] = number(of.Quantile(0.5));
    staleness["p99"] = number(of.Quantile(0.99));
    staleness["max"] = number(of.Quantile(1));
    staleness["histogram"] = nlohmann::ordered_json::array();
    for (const auto& [value, count] : of.counts)
    {
        staleness["histogram"].push_back({value, count});
    }
    return staleness;
}

nlohmann::ordered_json
ServersToJson(const training::ServedPlan& plan, const workload::ServedStatistics& served, double us)
{
    nlohmann::ordered_json body;
    body["strategy"] = training::StrategyName(plan.Options().strategy);
    const auto load = [us](const std::vector<uint64_t>& bytes) {
        return nlohmann::ordered_json{
            {"mean", Gbps(MeanOf(bytes), us)},
            {"max", Gbps(static_cast<double>(*std::max_element(bytes.begin(), bytes.end())), us)}};
    };
    body["parameter_servers"] = {{"shards", plan.Shards()},
                                 {"gradients_applied", served.applied},
                                 {"gradients_dropped", served.dropped},
                                 {"received_gbps", load(served.received)},
                                 {"sent_gbps", load(served.sent)}};
    const auto& rounds = served.roundsOf;
    body["replica_rounds"] = {{"min", *std::min_element(rounds.begin(), rounds.end())},
                              {"mean", MeanOf(rounds)},
                              {"max", *std::max_element(rounds.begin(), rounds.end())}};
    switch (plan.Options().strategy)
    {
    case training::Strategy::kSandblaster:
        body["pieces"] = {{"per_batch", plan.Pieces()},
                          {"begun", served.pieces},
                          {"given_twice", served.backups},
                          {"in_vain", served.wasted}};
        break;
    case training::Strategy::kDownpour:
        body["staleness"] = StalenessToJson(served.staleness);
        break;
    default:
        break;
    }
    return body;
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

} // namespace results
