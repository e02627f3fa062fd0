/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_PART_NOTE_H
#define DLTRAIN_PART_NOTE_H

#include "results/base/records.h"

#include <cstdint>

namespace dltrain
{

/// A results::CollectivePart as it goes to another process: the algorithm as its place in the
/// registry. Sizes of blocks do not go along; each rank has compared its own members' by then.
class PartNote
{
  public:
    explicit PartNote(const results::CollectivePart& part);

    results::CollectivePart GetPart() const;

  private:
    results::CollectivePart m_part; ///< without pointers
    uint32_t m_algorithm;
};

} // namespace dltrain

#endif // DLTRAIN_PART_NOTE_H
