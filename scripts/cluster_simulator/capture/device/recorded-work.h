/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a collective returns to the program.
 */
#ifndef CAPTURE_RECORDED_WORK_H
#define CAPTURE_RECORDED_WORK_H

#include "device.h"
#include "process-group.h"
#include "record.h"
#include "storage.h"

#include <ATen/ATen.h>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

namespace capture
{

/// A collective that is done as soon as it is recorded. Waiting for it is recorded as well.
class RecordedWork : public c10d::Work
{
  public:
    /// `stream`: on which NCCL runs it.
    RecordedWork(Tensors tensors, int64_t number, int64_t stream, int rank, c10d::OpType type)
        : Work(rank, type),
          m_tensors(std::move(tensors)),
          m_number(number),
          m_stream(stream)
    {
        std::vector<c10::Device> devices;
        if (!m_tensors.empty())
        {
            devices.push_back(m_tensors[0].device());
        }
        m_future =
            c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                     devices);
        // Its events are those of NCCL's stream, which is the current one for so long.
        const c10::Stream before = StreamOf(CurrentDevice(), CurrentStream());
        SetStream(StreamOf(CurrentDevice(), stream));
        m_future->markCompleted(c10::IValue(m_tensors));
        SetStream(before);
    }

    bool isCompleted() override
    {
        return true;
    }

    bool isSuccess() const override
    {
        return true;
    }

    bool wait(std::chrono::milliseconds) override
    {
        const int device = m_tensors.empty() ? CurrentDevice() : m_tensors[0].get_device();
        const int64_t stream = CurrentStreamOf(device);
        Line("done").Add("c", m_number).Add("d", device).Add("s", stream).Write();
        const std::lock_guard<std::mutex> lock(MemoryLock());
        Streams().Follow(StreamKey(device, stream), StreamKey(device, m_stream));
        if (opType_ == c10d::OpType::BARRIER)
        {
            // The only one for which PyTorch waits on the host: ProcessGroupNCCL.cpp of 1.13,
            // WorkNCCL::synchronizeInternal.
            Streams().ProgramWaitsForDevice(device);
        }
        return true;
    }

    void synchronize() override
    {
        wait(kNoTimeout);
    }

    Tensors result() override
    {
        return m_tensors;
    }

    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override
    {
        return m_future;
    }

  private:
    Tensors m_tensors;
    int64_t m_number;
    int64_t m_stream;
    c10::intrusive_ptr<c10::ivalue::Future> m_future;
};

} // namespace capture

#endif // CAPTURE_RECORDED_WORK_H
