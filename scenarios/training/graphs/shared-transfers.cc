/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/shared-transfers.h"

#include "scenarios/training/spec/bounded-time.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <cstdint>

namespace training
{

int16_t
LayerNumber(uint32_t layer)
{
    return static_cast<int16_t>(std::min<uint32_t>(layer, INT16_MAX));
}

Task
Collective(Phase phase,
           uint8_t stream,
           GroupOf group,
           coll::Op op,
           uint64_t bytes,
           std::string name)
{
    Task task;
    task.kind = TaskKind::kCollective;
    task.phase = phase;
    task.stream = stream;
    task.group = static_cast<uint32_t>(group);
    task.op = op;
    task.bytes = bytes;
    task.name = std::move(name);
    return task;
}

Task
MemoryTask(const TrainingOptions& o, Phase phase, double bytes, std::string name, double launches)
{
    Kernel kernel;
    kernel.kind = KernelClass::kPointwise;
    kernel.launches = launches;
    kernel.bytes = bytes;
    Task task;
    task.kind = TaskKind::kMemory;
    task.phase = phase;
    task.stream = kComputeStream;
    task.duration = BoundedTime(Seconds(kernel, o.gpu, o.dtype));
    task.name = std::move(name);
    return task;
}

Task
CopyTask(const TrainingOptions& o,
         Phase phase,
         uint64_t bytes,
         double tensors,
         uint32_t ranks,
         const std::string& what)
{
    return MemoryTask(o, phase, 2 * static_cast<double>(bytes), "copy " + what, tensors * ranks);
}

} // namespace training
