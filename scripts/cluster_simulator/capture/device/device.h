/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GPUs that are not there: how many, which one and which of its streams each thread uses, and what
 * PyTorch asks of a device (guard, hooks, generator, DDP's timer).
 */
#ifndef CAPTURE_DEVICE_H
#define CAPTURE_DEVICE_H

#include "caching-allocator.h"

#include <ATen/core/Generator.h>
#include <c10/core/Stream.h>
#include <cstdint>
#include <mutex>

namespace capture
{

constexpr int kMostDevices = 64;

/// Before anything else.
void SetDevices(int count, uint64_t memoryBytes);
int DeviceCount();
/// What is drawn on each GPU where no other generator is given: torch.cuda.default_generators.
void SetGenerators(std::vector<at::Generator> generators);
/// Throws what CUDA says of a device that is not there.
void CheckDevice(int64_t device);

/// This process is one of the job: what was done until here is not the script's.
void BeginProcess();
/// Before a GPU is used, or asked for in a way that makes CUDA begin. Throws what PyTorch says in a
/// process that was forked after that: CUDA does not outlive a fork (torch/csrc/cuda/Module.cpp).
void UseGpus();
/// In the child of a fork.
void ForbidAfterUse();
bool IsInBadFork();

int CurrentDevice();
void SetDevice(int device);
int64_t CurrentStream();
int64_t CurrentStreamOf(int device);
void SetStream(c10::Stream stream);
/// 0 is the default stream.
c10::Stream StreamOf(int device, int64_t number);
c10::Stream NewStream(int device);

/// Memory of a device; under MemoryLock().
CachingAllocator& MemoryOf(int device);
std::mutex& MemoryLock();

/// The program waits until a stream has done all that it was given; or all streams of a GPU.
void ProgramWaits(int device, int64_t stream);
void ProgramWaitsForDevice(int device);
/// The program is a step on (stream-order.h).
void EndStep();

/// While it lives, this thread uses another device.
class OnDevice
{
  public:
    explicit OnDevice(int device);
    ~OnDevice();

  private:
    int m_before;
};

/// A number for an event, which is never 0.
int64_t NewEvent();

} // namespace capture

#endif // CAPTURE_DEVICE_H
