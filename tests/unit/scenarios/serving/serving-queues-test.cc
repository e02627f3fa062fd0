/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Serving one request at a time is a queue with one server: closed forms and Lindley's recursion.
 */
#include "tests/unit/scenarios/serving/served-run.h"

#include <gtest/gtest.h>
#include <map>
#include <vector>

using namespace serving;
using served::Drawn;
using served::kMs;
using served::OneInstance;
using served::Serve;

namespace
{

constexpr uint32_t kRequests = 400'000;

/// One token a request, one request an iteration of 1 ms.
ServingSpec
QueueOf(double rho, uint64_t seed)
{
    ServingSpec spec = OneInstance();
    spec.requests = Drawn(RequestsSpec::Kind::kPoisson, kRequests, 8, 1);
    spec.requests.rate = rho * 1000;
    spec.requests.seed = seed;
    spec.maxBatch = 1;
    return spec;
}

/// Time-mean of what changes by so much at each time, until `end`.
double
MeanOverTime(const std::multimap<int64_t, int>& changes, int64_t end)
{
    double area = 0;
    int64_t last = 0;
    int64_t now = 0;
    for (const auto& [time, change] : changes)
    {
        area += static_cast<double>(now) * static_cast<double>(time - last);
        last = time;
        now += change;
    }
    return area / static_cast<double>(end);
}

} // namespace

/// M/D/1 (Pollaczek and Khinchine): a mean wait of rho S / (2 (1 - rho)).
TEST(ServingQueues, PoissonArrivalsWaitAsInAnMD1Queue)
{
    for (const double rho : {0.3, 0.6, 0.8})
    {
        const ServingSpec spec = QueueOf(rho, 5);
        const std::vector<Request> requests = MakeRequests(spec.requests);
        const ServingOutcome outcome = Serve(spec, {}, requests);
        double sum = 0;
        int64_t free = 0; // Lindley: begins when it has come and the one before has gone
        for (std::size_t i = 0; i < requests.size(); ++i)
        {
            const RequestRecord& one = outcome.requests[i];
            const int64_t begins = std::max(free, requests[i].arrival);
            free = begins + kMs;
            ASSERT_EQ(one.scheduled, begins) << i;
            ASSERT_EQ(one.lastToken, free) << i;
            sum += one.Queued();
        }
        const double expected = rho * 1e-3 / (2 * (1 - rho));
        EXPECT_NEAR(sum / kRequests, expected, 0.02 * expected) << rho;
        // The server is busy for the share rho of the time.
        const InstanceRecord& instance = outcome.instances[0];
        const double busy = instance.seconds[static_cast<std::size_t>(TimePart::kProducts)];
        EXPECT_NEAR(busy, kRequests * 1e-3, 1e-6);
        EXPECT_NEAR(busy * 1e12 / static_cast<double>(outcome.end), rho, 0.01 * rho);
    }
}

/// Little's law, of an engine that batches: mean of those in iterations = answers a second x mean
/// time in iterations. The left side is the engine's own count, the right side the requests'.
TEST(ServingQueues, LittlesLaw)
{
    ServingSpec spec = OneInstance();
    spec.requests = Drawn(RequestsSpec::Kind::kPoisson, 3000, 100, 20);
    spec.requests.output = {LengthSpec::Kind::kUniform, 1, 60};
    spec.requests.rate = 150;
    spec.maxBatch = 8;
    const ServingOutcome outcome = Serve(spec, {});
    std::multimap<int64_t, int> inSystem;
    double times = 0;
    for (const RequestRecord& one : outcome.requests)
    {
        inSystem.emplace(one.arrival, 1);
        inSystem.emplace(one.lastToken, -1);
        times += one.EndToEnd();
    }
    const double end = static_cast<double>(outcome.end) * 1e-12;
    EXPECT_NEAR(MeanOverTime(inSystem, outcome.end), times / end, 1e-6);
    // Those in iterations: all from begin to end, since the budget has room for all.
    double served = 0;
    for (const RequestRecord& one : outcome.requests)
    {
        served += static_cast<double>(one.lastToken - one.scheduled) * 1e-12;
    }
    const InstanceRecord& instance = outcome.instances[0];
    const double busy = instance.seconds[static_cast<std::size_t>(TimePart::kProducts)];
    EXPECT_NEAR(instance.batchMean * busy, served, 1e-6 * served);
    // And the queue of the load samples: at an iteration's begin all that have come and not begun.
    for (const LoadSample& sample : outcome.load)
    {
        uint32_t waiting = 0;
        for (const RequestRecord& one : outcome.requests)
        {
            waiting += one.arrival <= sample.time && one.scheduled > sample.time;
        }
        ASSERT_EQ(sample.waiting, waiting);
        if (sample.time > outcome.end / 20)
        {
            break;
        }
    }
}

/// More arrive than are answered: a rate of 2,000 against 1,000 a second.
TEST(ServingQueues, ARunThatCannotKeepUpSaysByHowMuch)
{
    ServingSpec spec = QueueOf(2, 1);
    spec.requests.count = 5000;
    const ServingOutcome outcome = Serve(spec, {});
    EXPECT_NEAR(outcome.arrivesPerS, 2000, 100);
    EXPECT_NEAR(outcome.beginsPerS, 1000, 1);
    spec.requests.rate = 800;
    EXPECT_EQ(Serve(spec, {}).arrivesPerS, 0);
}

/// Closed loops: N clients with batches of one are always one that is served and N - 1 that wait.
TEST(ServingQueues, AClosedLoopWaitsForAllOtherClients)
{
    ServingSpec spec = OneInstance();
    spec.requests = Drawn(RequestsSpec::Kind::kClosed, 100, 8, 1);
    spec.requests.clients = 5;
    spec.maxBatch = 1;
    const ServingOutcome outcome = Serve(spec, {});
    EXPECT_EQ(outcome.end, 100 * kMs);
    for (uint32_t i = 0; i < 100; ++i)
    {
        const RequestRecord& one = outcome.requests[i];
        EXPECT_EQ(one.lastToken, (i + 1) * kMs);
        // The client of request i - 5 sends it when that one is answered.
        EXPECT_EQ(one.arrival, i < 5 ? 0 : (i - 4) * kMs);
    }
}
