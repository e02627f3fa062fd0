/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How values of ranks come to each other, through the store.
 */
#include "exchanged-values.h"
#include "patience.h"
#include "process-group.h"
#include "record.h"
#include "storage.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace capture
{

namespace
{

Exchange g_exchange;
constexpr std::chrono::microseconds kLongestPause(20000);

/// The same number on all ranks, as loss scales are: what a sum of them is.
void
ReduceAlike(const at::Tensor& tensor, const c10d::ReduceOp& operation, int ranks)
{
    if (HasValue(tensor) && tensor.numel() > 0 &&
        static_cast<c10d::ReduceOp::RedOpType>(operation.op_) == c10d::ReduceOp::SUM)
    {
        const at::NoGradGuard guard;
        OnHost(tensor.detach()).mul_(ranks);
    }
}

/// Whether whole numbers of ranks can be reduced here, and how two of them are.
bool
Reduced(at::Tensor& value, const at::Tensor& other, const c10d::ReduceOp& operation)
{
    switch (static_cast<c10d::ReduceOp::RedOpType>(operation.op_))
    {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::AVG:
        value = value.add(other);
        return true;
    case c10d::ReduceOp::PRODUCT:
        value = value.mul(other);
        return true;
    case c10d::ReduceOp::MIN:
        value = value.minimum(other);
        return true;
    case c10d::ReduceOp::MAX:
        value = value.maximum(other);
        return true;
    case c10d::ReduceOp::BAND:
        value = value.bitwise_and(other);
        return true;
    case c10d::ReduceOp::BOR:
        value = value.bitwise_or(other);
        return true;
    case c10d::ReduceOp::BXOR:
        value = value.bitwise_xor(other);
        return true;
    default:
        return false;
    }
}

} // namespace

void
SetExchange(Exchange exchange)
{
    g_exchange = std::move(exchange);
}

std::string
SimulatedNccl::Key(int rank) const
{
    return "value " + std::to_string(m_sequence) + " " + std::to_string(rank);
}

bool
SimulatedNccl::Exchanges() const
{
    return g_exchange.all && !m_mixed;
}

std::string
SimulatedNccl::Heading(const at::Tensor& tensor) const
{
    return std::string(m_doing) + " " + c10::toString(tensor.scalar_type()) + " " +
           std::to_string(tensor.nbytes()) + "\n";
}

void
SimulatedNccl::Give(const std::string& key, const at::Tensor& tensor)
{
    if (!Exchanges())
    {
        return;
    }
    const bool known = HasValue(tensor); // else of no tensor's size
    GiveBytes(key,
              tensor,
              known ? OnHost(tensor).data_ptr() : nullptr,
              known ? tensor.nbytes() : 0);
}

void
SimulatedNccl::GiveBytes(const std::string& key,
                         const at::Tensor& tensor,
                         const void* data,
                         size_t bytes)
{
    const std::string heading = Heading(tensor);
    std::vector<uint8_t> value(heading.begin(), heading.end());
    const auto* begin = static_cast<const uint8_t*>(data);
    value.insert(value.end(), begin, begin + bytes);
    m_store->set(key, value);
}

bool
SimulatedNccl::TakeBytes(const std::string& key, const at::Tensor& tensor, void* data)
{
    const std::string heading = Heading(tensor);
    const std::vector<uint8_t> value = m_store->get(key);
    m_mixed =
        value.size() < heading.size() || !std::equal(heading.begin(), heading.end(), value.begin());
    if (m_mixed || value.size() != heading.size() + tensor.nbytes())
    {
        return false;
    }
    memcpy(data, value.data() + heading.size(), tensor.nbytes());
    return true;
}

bool
SimulatedNccl::Take(const std::string& key, int from, const at::Tensor& tensor, const char* what)
{
    if (!Exchanges())
    {
        return false;
    }
    WaitFor(key, from, what);
    if (!InfoOf(tensor).real || !TakeBytes(key, tensor, OnHost(tensor).data_ptr()))
    {
        return false;
    }
    InfoOf(tensor).valid = true;
    return true;
}

void
SimulatedNccl::WaitFor(const std::string& key, int from, const char* what)
{
    const int64_t peer = m_ranks.empty() ? from : m_ranks[from];
    const std::string ended = g_exchange.ended + "/rank-" + std::to_string(peer);
    Patience patience(g_exchange.patience, g_exchange.ended + "/process-" + std::to_string(peer));
    auto pause = std::chrono::microseconds(100);
    bool isFlushed = false;
    while (!m_store->check({key}))
    {
        if (!isFlushed && pause == kLongestPause)
        {
            // Who waits may be ended at any time, as another rank fails: what it waits for, and
            // all before, has been said then.
            FlushRecord();
            isFlushed = true;
        }
        const bool isOver = access(ended.c_str(), F_OK) == 0 && !m_store->check({key});
        if (isOver || patience.IsOver())
        {
            FlushRecord();
            TORCH_CHECK(false,
                        "capture: ",
                        what,
                        " at ",
                        ToldLine(),
                        " waits for rank ",
                        peer,
                        isOver ? std::string(", which has ended")
                               : ", which does something else: it did not compute for " +
                                     std::to_string(std::lround(g_exchange.patience)) +
                                     " s (the capture's patience)");
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, kLongestPause);
    }
}

void
SimulatedNccl::GatherValues(Tensors& outputs, const at::Tensor& input, const char* what)
{
    const at::NoGradGuard guard;
    for (const at::Tensor& output : outputs)
    {
        if (output.sizes() == input.sizes())
        {
            CopyValues(output.detach(), input.detach());
        }
        else
        {
            Invalidate(output);
        }
    }
    if (!Exchanges())
    {
        return; // the others are taken to have the same
    }
    if (Goes(input))
    {
        Give(Key(rank_), input);
    }
    for (int rank = 0; rank < size_ && Exchanges(); ++rank)
    {
        const at::Tensor& output = outputs[rank];
        if (rank != rank_ &&
            !(HasValue(input) && Goes(input) && Goes(output) &&
              Take(Key(rank), rank, output, what)) &&
            Exchanges())
        {
            Invalidate(output);
        }
    }
}

bool
SimulatedNccl::ReduceValues(uint64_t sequence,
                            const at::Tensor& tensor,
                            const c10d::ReduceOp& operation,
                            at::Tensor& all)
{
    if (!Exchanges() || !Goes(tensor))
    {
        return false;
    }
    const std::string prefix = "value " + std::to_string(sequence) + " ";
    const at::NoGradGuard guard;
    const PartOfAnother part;
    Give(prefix + std::to_string(rank_), tensor);
    if (!HasValue(tensor))
    {
        return false;
    }
    bool known = true;
    all = OnHost(tensor.detach()).clone();
    const at::Tensor other = Empty(tensor.sizes(), tensor.scalar_type(), tensor.device());
    for (int rank = 0; rank < size_ && known; ++rank)
    {
        known = rank == rank_ || (Take(prefix + std::to_string(rank), rank, other, "all_reduce") &&
                                  Reduced(all, OnHost(other), operation));
    }
    if (known && static_cast<c10d::ReduceOp::RedOpType>(operation.op_) == c10d::ReduceOp::AVG)
    {
        all.div_(size_);
    }
    return known;
}

void
SimulatedNccl::SumUp(uint64_t sequence, const at::Tensor& tensor, const c10d::ReduceOp& operation)
{
    at::Tensor all;
    if (ReduceValues(sequence, tensor, operation, all))
    {
        const at::NoGradGuard guard;
        OnHost(tensor.detach()).copy_(all);
    }
    else if (Exchanges())
    {
        Invalidate(tensor);
    }
    else
    {
        ReduceAlike(tensor, operation, size_);
    }
}

void
SimulatedNccl::ScatterValues(uint64_t sequence,
                             const at::Tensor& input,
                             const at::Tensor& output,
                             int64_t first,
                             const c10d::ReduceOp& operation)
{
    at::Tensor all;
    if (InfoOf(output).real && ReduceValues(sequence, input, operation, all))
    {
        const at::NoGradGuard guard;
        OnHost(output.detach())
            .copy_(all.flatten().narrow(0, first, output.numel()).view(output.sizes()));
        InfoOf(output).valid = true;
        return;
    }
    Invalidate(output);
}

void
SimulatedNccl::SwapValues(uint64_t sequence, const Tensors& pieces, const Tensors& parts)
{
    const std::string prefix = "value " + std::to_string(sequence) + " ";
    for (int rank = 0; rank < size_ && Exchanges(); ++rank)
    {
        GiveBytes(prefix + std::to_string(rank_) + " to " + std::to_string(rank),
                  pieces[rank],
                  pieces[rank].data_ptr(),
                  pieces[rank].nbytes());
    }
    for (int rank = 0; rank < size_; ++rank)
    {
        at::Tensor part = parts[rank];
        if (rank == rank_ || !Exchanges())
        {
            // (Where the others do not run, they are taken to do the same.)
            if (part.sizes() == pieces[rank_].sizes())
            {
                part.copy_(pieces[rank_]);
            }
            continue;
        }
        const std::string key = prefix + std::to_string(rank) + " to " + std::to_string(rank_);
        WaitFor(key, rank, "all_to_all");
        TakeBytes(key, part, part.data_ptr());
    }
}

} // namespace capture
