/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What PyTorch 2 gets for a grouped call (batch_isend_irecv, coalesced collectives): one object.
 */
#ifndef CAPTURE_GROUPED_WORK_H
#define CAPTURE_GROUPED_WORK_H

#include "pytorch.h"

#include <ATen/ATen.h>
#include <chrono>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#if CAPTURE_PYTORCH_2

namespace capture
{

/// All of a grouped call, for which the program waits at once.
class GroupedWork : public c10d::Work
{
  public:
    GroupedWork(std::vector<c10::intrusive_ptr<c10d::Work>> works, int rank)
        : Work(rank, c10d::OpType::COALESCED),
          m_works(std::move(works))
    {
    }

    bool isCompleted() override
    {
        return true;
    }

    bool isSuccess() const override
    {
        return true;
    }

    bool wait(std::chrono::milliseconds timeout) override
    {
        for (const auto& work : m_works)
        {
            work->wait(timeout);
        }
        return true;
    }

    void synchronize() override
    {
        wait(kNoTimeout);
    }

    std::vector<at::Tensor> result() override
    {
        std::vector<at::Tensor> all;
        for (const auto& work : m_works)
        {
            const std::vector<at::Tensor> some = work->result();
            all.insert(all.end(), some.begin(), some.end());
        }
        return all;
    }

    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override
    {
        TORCH_CHECK(!m_works.empty(), "nothing was called in this group");
        return m_works.back()->getFuture();
    }

  private:
    std::vector<c10::intrusive_ptr<c10d::Work>> m_works;
};

} // namespace capture

#endif

#endif // CAPTURE_GROUPED_WORK_H
