/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_RANK_NOTES_H
#define DLTRAIN_RANK_NOTES_H

#include "ns3/node-window-ranks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace dltrain
{

/**
 * With several Ranks and node windows: what the hosts of all ranks have to tell, the first rank
 * hears in the order in which one process tells it.
 *
 *     rank 0   an event ... NodeWindows::Note -> Tell --.
 *     rank 1   an event ... NodeWindows::Note -> Tell ---+--> first rank: a hearer, note by note
 *                           window's end ^                ^ before the next window
 *
 * That order is (time, context, calls), as of NodeWindows::Note; and of notes of an event without a
 * node, which each rank runs for its own hosts, the place that SetPlace gives. A window's notes are
 * heard before anything of the next one happens, and kept no longer.
 */
class RankNotes
{
  public:
    /// Receives a note: a T that was told. \param payload valid only during the call
    using Hearer = std::function<void(const uint8_t* payload)>;

    /// In every rank at the same point of the set-up. \param ranks must outlive it
    explicit RankNotes(ns3::NodeWindowRanks& ranks);
    RankNotes(const RankNotes&) = delete;
    RankNotes& operator=(const RankNotes&) = delete;

    /// Before the first event, in the same order in all ranks. \param hear called with a `const T&`
    /// in the first one \return the number of this kind
    template <class T, class Function>
    uint16_t Add(Function hear)
    {
        static_assert(std::is_trivially_copyable_v<T>, "it goes as bytes: no pointers in it");
        return AddHearer([hear](const uint8_t* payload) {
            alignas(T) unsigned char copy[sizeof(T)];
            std::copy_n(payload, sizeof(T), copy);
            hear(*reinterpret_cast<const T*>(copy));
        });
    }

    /// The same for bytes of any number. \param hear called with where they begin
    uint16_t AddHearer(Hearer hear);

    /// Between windows, or in an event without a node: where a note is told. \param urgent it may
    /// decide what comes next, so that all ranks wait for what the first one has to say
    template <class T>
    void Tell(uint16_t kind, const T& what, bool urgent = false)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        TellBytes(kind, &what, sizeof(what), urgent);
    }

    void TellBytes(uint16_t kind, const void* bytes, std::size_t size, bool urgent = false);

    /// In an event without a node: sets the place of later notes among the notes of all ranks in
    /// this event. Places grow. \param place 0: before anything else
    void SetPlace(uint32_t place)
    {
        m_place = place;
    }

    /// \return of the note that is being heard, ps
    int64_t GetTime() const
    {
        return m_time;
    }

    /// \return whether a word of NodeWindowRanks belongs to this class
    static bool IsWord(const std::string& word);

  private:
    /// Ahead of a note's bytes.
    struct Head
    {
        int64_t time; //!< ps
        uint32_t context;
        uint32_t place;
        uint16_t kind;
        uint16_t unused[3];
    };

    struct Heard
    {
        Head head;
        const uint8_t* payload;
    };

    void Read(const uint8_t* at, const uint8_t* end);
    void HearAll();

    ns3::NodeWindowRanks& m_ranks;
    uint32_t m_reader;
    uint32_t m_place{0};
    int64_t m_time{0};
    std::vector<Hearer> m_hearers; //!< by kind
    std::vector<uint8_t> m_bytes;  //!< bytes of a note, while it is put together
    std::vector<Heard> m_heard;    //!< notes of the ranks' last agreement
};

} // namespace dltrain

#endif // DLTRAIN_RANK_NOTES_H
