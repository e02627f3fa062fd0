/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_ATTRIBUTION_LINK_NOTES_H
#define REPORTS_ATTRIBUTION_LINK_NOTES_H

#include <cstdint>
#include <string>
#include <vector>

namespace reports
{

/**
 * Notes on a link where a message was held up: the faults that it had then, and whether it was the
 * busiest of its kind. They are known at the end of a run; until then there are none.
 */
class LinkNotes
{
  public:
    /// One time that a fault was there.
    struct Fault
    {
        std::string words;          //!< "rate on edge-0-0-agg-0-1"
        std::vector<uint32_t> ends; //!< ends in the fabric that the fault holds up
        int64_t begin{0};           //!< ps
        int64_t end{INT64_MAX};     //!< ps
        bool losesFrames{false};
        std::vector<uint64_t> pairs;      //!< pairs of endpoints that lost frames: PairOf
        std::vector<uint64_t> unanswered; //!< pairs that lost acknowledgements of their frames
        /// The link has its full speed otherwise (drop, ber). No packet queues because of the
        /// fault, and a message without lost frames has not met it.
        bool onlyLoses{false};
    };

    /// A directed link.
    struct Load
    {
        uint32_t end{0};  //!< end in the fabric
        uint32_t from{0}; //!< links from that node to the nearest host; 0: a host
        uint32_t to{0};   //!< the same for the other node
        double load{0};   //!< bytes over rate, or any unit
    };

    /// Links whose loads differ less than so much from the mean of their kind are alike: assumed.
    static constexpr double BUSY = 1.25;
    /// With fewer links than this there is no busiest one: two may be the two directions of one
    /// cable.
    static constexpr uint32_t LEAST_LINKS = 3;

    static uint64_t PairOf(uint32_t src, uint32_t dst)
    {
        return uint64_t{src} << 32 | dst;
    }

    void Clear();
    void Add(Fault fault);
    /// Finds the busiest links of each kind (the same `from` and `to`) among links that carried
    /// anything. They are those with the largest load, if it is BUSY times the mean, and there are
    /// LEAST_LINKS.
    void SetLoads(const std::vector<Load>& loads);

    /// \param from, to ps \return "rate on a-b; busiest of 8 links from tier 1 to tier 2, 1.9 times
    /// their mean"; or nothing
    std::string Of(uint32_t end, int64_t from, int64_t to) const;
    /// The faults among these notes.
    std::string FaultsOf(uint32_t end, int64_t from, int64_t to) const;
    /// The faults that packets queue for, among these.
    std::string SlowingFaultsOf(uint32_t end, int64_t from, int64_t to) const;
    /// Faults that a message between two endpoints met at a link on its way.
    std::string FaultsMetAt(uint32_t end,
                            uint32_t src,
                            uint32_t dst,
                            int64_t from,
                            int64_t to) const;
    /// \return faults that lost frames then, anywhere: "link-down on a-b"; or nothing
    std::string Losses(int64_t from, int64_t to) const;
    /// The same for frames from one endpoint to another.
    std::string LossesOf(uint32_t src, uint32_t dst, int64_t from, int64_t to) const;
    /// The same for acknowledgements of those frames.
    std::string LostAnswersOf(uint32_t src, uint32_t dst, int64_t from, int64_t to) const;

  private:
    template <typename Filter>
    std::string FaultsAt(uint32_t end, int64_t from, int64_t to, Filter which) const;
    std::string Hitting(std::vector<uint64_t> Fault::*pairs,
                        uint64_t pair,
                        int64_t from,
                        int64_t to) const;

    std::vector<Fault> m_faults;
    std::vector<std::string> m_busiest; //!< by end; shorter, or empty text: it is not
};

} // namespace reports

#endif // REPORTS_ATTRIBUTION_LINK_NOTES_H
