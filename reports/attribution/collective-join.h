/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_ATTRIBUTION_COLLECTIVE_JOIN_H
#define REPORTS_ATTRIBUTION_COLLECTIVE_JOIN_H

#include "reports/base/records.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace reports
{

/**
 * Makes records of collectives from the parts of their ranks.
 *
 *     rank 0   enters ....... leaves --part--.
 *     rank 1       enters ........... leaves -+-part--> record, with the last of them
 *     rank 2   enters .... leaves --part------'
 *
 * The order of parts does not change a record: it sums integers. Memory: a record, and 8 B per
 * rank, for each collective that some ranks have left and others have not.
 */
class CollectiveJoin
{
  public:
    /// A rank has left. \return the whole, if it was the last; throws std::logic_error if others
    /// were in another collective
    std::optional<CollectiveRecord> Add(const CollectivePart& part);

    /// \return how many some ranks have left and others have not
    std::size_t GetOpen() const
    {
        return m_open.size();
    }

  private:
    struct Open
    {
        CollectiveRecord record;
        const coll::BlockSizes* blocks = nullptr; ///< blocks of the first part
        std::vector<int64_t> left;                ///< ps, each rank that has
        unsigned __int128 entered = 0; ///< ps, the ranks' sum: of 100 days and a million ranks no
                                       ///< 64 bits
        unsigned __int128 spent = 0;   ///< ps that the ranks were in it
    };

    std::map<std::pair<uint32_t, uint32_t>, Open> m_open; ///< by communicator and sequence
};

} // namespace reports

#endif // REPORTS_ATTRIBUTION_COLLECTIVE_JOIN_H
