/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Cost of the pure pieces that stand in per-packet and per-message paths.
 *
 *     cmake -B build -DDLTRAIN_BENCH=ON && cmake --build build && ./build/tests/bench_pure
 *
 * Never asserted: machines differ. Compare two builds in runs that alternate.
 */
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "contrib/rdma/core/dcqcn-rate.h"
#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/ideal-completion.h"
#include "contrib/rdma/core/shared-buffer.h"
#include "topologies/scale-up/scale-up-model.h"

#include <benchmark/benchmark.h>

namespace
{

/// Per packet and switch: admit a frame, release another.
void
SharedBufferAdmitRelease(benchmark::State& state)
{
    rdma::SharedBufferConfig config;
    config.totalBytes = 8000000;
    config.headroomBytes.assign(8, 50000);
    config.losslessMask = 0x08;
    rdma::SharedBuffer buffer(config);
    constexpr uint32_t frame = 4158;
    for (uint32_t i = 0; i < 64; ++i)
    {
        buffer.Admit(i % 8, 3, frame, 0);
    }
    uint32_t port = 0;
    for (auto _ : state)
    {
        benchmark::DoNotOptimize(buffer.Admit(port, 3, frame, 0));
        benchmark::DoNotOptimize(buffer.Release(port, 3, frame));
        port = (port + 1) % 8;
    }
}

BENCHMARK(SharedBufferAdmitRelease);

/// Per packet and switch with equal paths.
void
EcmpPick(benchmark::State& state)
{
    uint32_t hash = 1;
    for (auto _ : state)
    {
        benchmark::DoNotOptimize(rdma::EcmpPick(hash++, 12345, 4));
    }
}

BENCHMARK(EcmpPick);

/// Per packet of a throttled queue pair, nothing due.
void
DcqcnNothingDue(benchmark::State& state)
{
    rdma::DcqcnRate rate(rdma::DcqcnHpcc19Vendor(rdma::Gbps(100)), rdma::Gbps(100));
    rate.OnCnp(rdma::TimePoint(1), rdma::Bytes(0));
    for (auto _ : state)
    {
        benchmark::DoNotOptimize(rate.At(rdma::TimePoint(2), rdma::Bytes(4096)));
    }
}

BENCHMARK(DcqcnNothingDue);

/// Per CNP.
void
DcqcnCnp(benchmark::State& state)
{
    rdma::DcqcnRate rate(rdma::DcqcnHpcc19Vendor(rdma::Gbps(100)), rdma::Gbps(100));
    int64_t now = 0;
    for (auto _ : state)
    {
        now += 4000000;
        rate.OnCnp(rdma::TimePoint(now), rdma::Bytes(0));
        benchmark::DoNotOptimize(rate.At(rdma::TimePoint(now), rdma::Bytes(0)));
    }
}

BENCHMARK(DcqcnCnp);

/// Per message inside a server, whose ports nobody else uses: a step of a ring.
void
ScaleUpTransfer(benchmark::State& state)
{
    topo::ScaleUp spec;
    spec.perGpu = rdma::Gbps(2400);
    spec.latency = rdma::Nanoseconds(600);
    topo::ScaleUpModel model(spec, 8);
    rdma::TimePoint now;
    uint32_t from = 0;
    for (auto _ : state)
    {
        model.Post(from, (from + 1) % 8, rdma::Bytes(8192), now, 0);
        now = model.NextWake();
        uint64_t cookie = 0;
        while (model.Arrived(now, cookie))
        {
            benchmark::DoNotOptimize(cookie);
        }
        from = (from + 1) % 8;
    }
}

BENCHMARK(ScaleUpTransfer);

/// Per message of a collective: one step of a schedule over 3,072 ranks.
void
ScheduleStep(benchmark::State& state, coll::Op op, const char* name)
{
    const coll::Placement placement = coll::UniformPlacement(384, 8, 1);
    coll::Collective what;
    what.op = op;
    what.bytes = 25 << 20;
    what.ranks = 3072;
    const auto schedule = coll::Find(op, name)->Make(what, placement, {});
    coll::Rank rank = 0;
    coll::StepIndex k = 0;
    const coll::StepIndex steps = schedule->Steps(0, 0);
    for (auto _ : state)
    {
        benchmark::DoNotOptimize(schedule->At(rank, 0, k));
        rank = rank + 1 == 3072 ? 0 : rank + 1;
        k = k + 1 == steps ? 0 : k + 1;
    }
}

BENCHMARK_CAPTURE(ScheduleStep, ring_all_reduce, coll::Op::kAllReduce, "ring");
BENCHMARK_CAPTURE(ScheduleStep, hierarchical_all_reduce, coll::Op::kAllReduce, "hierarchical");

/// Per message and size: the closed form of an idle path.
void
IdealCompletion(benchmark::State& state)
{
    const std::vector<rdma::PathLink> path(
        6,
        {rdma::Gbps(100), rdma::Microseconds(1), rdma::Nanoseconds(500)});
    for (auto _ : state)
    {
        benchmark::DoNotOptimize(
            rdma::IdealCompletion(path, rdma::RoceWriteRuns(rdma::Bytes(1 << 20), 4096, true)));
    }
}

BENCHMARK(IdealCompletion);

} // namespace
