/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RESULTS_LINK_NOTES_H
#define RESULTS_LINK_NOTES_H

#include <cstdint>
#include <string>
#include <vector>

namespace results
{

/**
 * What there is to know of a link where a message was held up: the faults that it had meanwhile,
 * and whether it was the busiest of its kind. Known at the end of a run; of none there is nothing
 * to say until then.
 */
class LinkNotes
{
  public:
    /// One time that a fault was there.
    struct Fault
    {
        std::string words;          //!< "rate on edge-0-0-agg-0-1"
        std::vector<uint32_t> ends; //!< of the fabric, that it holds up
        int64_t begin{0};           //!< ps
        int64_t end{INT64_MAX};     //!< ps
        bool losesFrames{false};
        std::vector<uint64_t> pairs;      //!< of endpoints that lost frames: PairOf
        std::vector<uint64_t> unanswered; //!< that lost acknowledgements of their frames
        /// Of a link that is as fast as ever otherwise (drop, ber): no packet queues for it, and
        /// whose frames it did not lose has not met it.
        bool onlyLoses{false};
    };

    /// A directed link.
    struct Load
    {
        uint32_t end{0};  //!< of the fabric
        uint32_t from{0}; //!< links from that node to the nearest host; 0: a host
        uint32_t to{0};   //!< the same of the other one
        double load{0};   //!< bytes over rate, or any unit
    };

    /// Links whose loads differ less than so much from the mean of their kind are alike: assumed.
    static constexpr double BUSY = 1.25;
    /// Of fewer than so many there is no busiest: two may be the two ways of one cable.
    static constexpr uint32_t LEAST_LINKS = 3;

    static uint64_t PairOf(uint32_t src, uint32_t dst)
    {
        return uint64_t{src} << 32 | dst;
    }

    void Clear();
    void Add(Fault fault);
    /// Of the links of one kind (the same from and to) that carried anything, those with the
    /// largest load are its busiest, if that is BUSY times the mean of them, and there are
    /// LEAST_LINKS.
    void SetLoads(const std::vector<Load>& loads);

    /// \param from, to ps \return "rate on a-b; busiest of 8 links from tier 1 to tier 2, 1.9 times
    /// their mean"; or nothing
    std::string Of(uint32_t end, int64_t from, int64_t to) const;
    /// Of these, the faults alone.
    std::string FaultsOf(uint32_t end, int64_t from, int64_t to) const;
    /// Of these, those that packets queue for.
    std::string SlowingFaultsOf(uint32_t end, int64_t from, int64_t to) const;
    /// Faults that a message between two endpoints met at a link on its way.
    std::string FaultsMetAt(uint32_t end,
                            uint32_t src,
                            uint32_t dst,
                            int64_t from,
                            int64_t to) const;
    /// \return faults that lost frames then, anywhere: "link-down on a-b"; or nothing
    std::string Losses(int64_t from, int64_t to) const;
    /// The same of frames from one endpoint to another one.
    std::string LossesOf(uint32_t src, uint32_t dst, int64_t from, int64_t to) const;
    /// The same of what should have come back for them.
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

} // namespace results

#endif // RESULTS_LINK_NOTES_H
