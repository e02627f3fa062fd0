/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The KV cache of an engine: blocks of a fixed number of tokens (Kwon et al., "Efficient memory
 * management for large language model serving with PagedAttention", SOSP'23, section 4.2). A block
 * belongs to one request or to none.
 */
#ifndef SCENARIOS_INFERENCE_KV_BLOCKS_H
#define SCENARIOS_INFERENCE_KV_BLOCKS_H

#include <cstdint>
#include <vector>

namespace serving
{

/// Blocks of a request, in the order of its tokens.
using BlockTable = std::vector<uint32_t>;

class KvBlocks
{
  public:
    /// \param blocks in all \param tokens of a block, at least 1
    KvBlocks(uint64_t blocks, uint32_t tokens);

    /// \return blocks for so many tokens
    uint64_t BlocksFor(uint64_t tokens) const
    {
        return (tokens + m_tokens - 1) / m_tokens;
    }

    /// The table gets blocks until it has room for so many tokens. \return whether there were
    /// enough; if not, nothing has changed
    bool Grow(BlockTable* table, uint64_t tokens);
    /// All go back.
    void Free(BlockTable* table);
    /// Frees the blocks behind the first `tokens`, as when drafts are rejected.
    void Trim(BlockTable* table, uint64_t tokens);

    uint64_t Used() const
    {
        return m_all - FreeCount();
    }

    /// \return blocks that nobody has
    uint64_t FreeCount() const
    {
        return m_free.size() + (m_all - m_fresh);
    }

    uint64_t All() const
    {
        return m_all;
    }

    uint64_t Peak() const
    {
        return m_peak;
    }

  private:
    uint64_t m_all;
    uint32_t m_tokens;
    uint64_t m_fresh = 0; ///< blocks from this one on were never used
    uint64_t m_peak = 0;
    std::vector<uint32_t> m_free; ///< given back; the last one is used next
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_KV_BLOCKS_H
