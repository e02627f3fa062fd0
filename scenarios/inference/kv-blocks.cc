/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/kv-blocks.h"

#include <algorithm>

namespace serving
{

KvBlocks::KvBlocks(uint64_t blocks, uint32_t tokens)
    : m_all(blocks),
      m_tokens(tokens)
{
}

bool
KvBlocks::Grow(BlockTable* table, uint64_t tokens)
{
    const uint64_t wanted = BlocksFor(tokens);
    if (wanted <= table->size())
    {
        return true;
    }
    uint64_t more = wanted - table->size();
    if (more > FreeCount())
    {
        return false;
    }
    for (; more > 0 && !m_free.empty(); --more)
    {
        table->push_back(m_free.back());
        m_free.pop_back();
    }
    for (; more > 0; --more)
    {
        table->push_back(static_cast<uint32_t>(m_fresh++));
    }
    m_peak = std::max(m_peak, Used());
    return true;
}

void
KvBlocks::Free(BlockTable* table)
{
    Trim(table, 0);
}

void
KvBlocks::Trim(BlockTable* table, uint64_t tokens)
{
    for (const uint64_t kept = BlocksFor(tokens); table->size() > kept; table->pop_back())
    {
        m_free.push_back(table->back());
    }
}

} // namespace serving
