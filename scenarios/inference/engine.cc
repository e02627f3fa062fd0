/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace serving
{

uint64_t
LeastTokens(const ServingSpec& spec, PoolRole role, const Request& request)
{
    if (role == PoolRole::kPrefill)
    {
        return request.prompt;
    }
    // The last token is never read again: its KV is not kept. Drafts behind it are computed.
    return uint64_t{request.prompt} + request.output - 1 +
           (spec.speculation ? spec.speculation->tokens : 0);
}

Engine::Engine(const ServingSpec& spec, uint64_t blocks)
    : m_spec(spec),
      m_scheduler(RegisteredScheduler::Get(spec.scheduler).make()),
      m_blocks(blocks, spec.kvBlock)
{
}

Live*
Engine::Take(std::unique_ptr<Live> request)
{
    request->asked = request->blocks.empty() ? request->OwnTokens(request->Tokens()) : 0;
    m_asked += request->asked;
    request->withKv = !request->blocks.empty();
    m_withKv += request->withKv ? 1 : 0;
    const bool looks = m_spec.pollInterval > 1 || m_spec.ahead;
    auto& queue = looks && !request->withKv ? m_unseen : m_waiting;
    queue.push_back(std::move(request));
    return queue.back().get();
}

uint64_t
Engine::AskedBlocks() const
{
    return m_blocks.Used() + m_blocks.BlocksFor(m_asked);
}

Batch
Engine::Schedule()
{
    Poll();
    Batch batch;
    m_scheduler->Schedule(*this, &batch);
    m_sinceLook += batch.load.prefillTokens > 0 ? m_spec.pollInterval : 1;
    return batch;
}

void
Engine::Poll()
{
    const bool rests = m_running.empty() && m_waiting.empty();
    if (m_sinceLook < m_spec.pollInterval && !rests)
    {
        return;
    }
    m_sinceLook = 0;
    const std::size_t count = m_spec.ahead && !rests ? m_seen : m_unseen.size();
    const auto end = m_unseen.begin() + static_cast<std::ptrdiff_t>(count);
    std::move(m_unseen.begin(), end, std::back_inserter(m_waiting));
    m_unseen.erase(m_unseen.begin(), end);
    m_seen = m_unseen.size();
}

Live*
Engine::Admit(std::size_t index)
{
    const auto at = m_waiting.begin() + static_cast<std::ptrdiff_t>(index);
    std::unique_ptr<Live> request = std::move(*at);
    m_waiting.erase(at);
    m_asked -= std::exchange(request->asked, 0);
    m_withKv -= std::exchange(request->withKv, false) ? 1 : 0;
    m_running.push_back(std::move(request));
    return m_running.back().get();
}

const Live*
Engine::LastToPreempt() const
{
    const auto last = std::find_if(m_running.rbegin(), m_running.rend(), [](const auto& request) {
        return !request->inFlight;
    });
    return last == m_running.rend() ? nullptr : last->get();
}

Live*
Engine::PreemptLast()
{
    const auto last = std::find_if(m_running.rbegin(), m_running.rend(), [](const auto& request) {
        return !request->inFlight;
    });
    if (last == m_running.rend())
    {
        return nullptr;
    }
    std::unique_ptr<Live> request = std::move(*last);
    m_running.erase(std::next(last).base());
    LoseKv(request.get());
    m_waiting.push_front(std::move(request));
    return m_waiting.front().get();
}

std::size_t
Engine::FindWithKv(std::size_t from) const
{
    const auto first = m_waiting.begin() + static_cast<std::ptrdiff_t>(from);
    return m_withKv == 0 ? m_waiting.size()
                         : static_cast<std::size_t>(
                               std::find_if(first,
                                            m_waiting.end(),
                                            [](const auto& one) { return one->withKv; }) -
                               m_waiting.begin());
}

bool
Engine::DropLastWaiting()
{
    if (m_withKv == 0)
    {
        return false;
    }
    const auto last = std::find_if(m_waiting.rbegin(), m_waiting.rend(), [](const auto& request) {
        return request->withKv;
    });
    LoseKv(last->get());
    --m_withKv;
    (*last)->withKv = false;
    return true;
}

void
Engine::LoseKv(Live* request)
{
    m_blocks.Free(&request->blocks);
    request->lost = std::max(request->lost, request->computed);
    request->computed = request->cached;
    ++request->preemptions;
    request->asked = request->OwnTokens(request->Tokens());
    m_asked += request->asked;
}

void
Engine::Add(Batch* batch, Live* request, uint32_t tokens)
{
    const bool decodes = request->Decodes();
    batch->entries.push_back({request, tokens, decodes});
    request->inFlight = true;
    if (decodes)
    {
        batch->load.AddDecode(request->computed, tokens);
        return;
    }
    const uint32_t lost = request->lost > request->computed ? request->lost - request->computed : 0;
    batch->load.AddPrefill(request->computed, tokens, std::min(lost, tokens));
    batch->load.logits += request->computed + tokens == request->Tokens() ? 1 : 0;
}

void
Engine::End(const Batch& batch, const Told& told, const std::function<uint32_t()>& accepted)
{
    bool left = false;
    for (const Batch::Entry& entry : batch.entries)
    {
        Live& request = *entry.request;
        request.inFlight = false;
        uint32_t out = 0;
        if (entry.decodes && entry.tokens > 1)
        {
            // No more than it had a budget for.
            out = std::min({accepted() + 1, entry.tokens, request.output - request.produced});
            request.computed += out;
            m_blocks.Trim(&request.blocks, request.OwnTokens(request.computed));
        }
        else
        {
            request.computed += entry.tokens;
            out = request.computed == request.Tokens() ? 1 : 0;
        }
        request.produced += out;
        if (out > 0)
        {
            const bool done = request.produced >= request.output;
            request.held = told(request, out, done);
            left = left || done;
        }
    }
    if (!left)
    {
        return;
    }
    // In the order in which they run, so that blocks are given back in an order of their own.
    const auto end = std::remove_if(m_running.begin(), m_running.end(), [this](auto& request) {
        if (request->produced < request->output)
        {
            return false;
        }
        if (request->held)
        {
            m_held.push_back(std::move(request));
        }
        else
        {
            m_blocks.Free(&request->blocks);
        }
        return true;
    });
    m_running.erase(end, m_running.end());
}

void
Engine::Release(Live* request)
{
    const auto held = std::find_if(m_held.begin(), m_held.end(), [request](const auto& one) {
        return one.get() == request;
    });
    m_blocks.Free(&request->blocks);
    m_held.erase(held);
}

} // namespace serving
