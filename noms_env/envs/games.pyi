"""The modules of the games, for type checkers. Written by `python docs/make_types.py`."""

from collections.abc import Sequence
from types import ModuleType
from typing import Literal

from pettingzoo import AECEnv, ParallelEnv

from noms_env.envs.aec import TrickTakingEnv
from noms_env.envs.validation import Episode, IllegalAction, MaskPlace, ObservationKind, RenderMode, Reward

class _SnipedWhist(ModuleType):
    variant: str
    def env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        n_hands: int = 1,
        trump_mode: Literal["rotation", "turnup", "random", "none", "dealer"] = "turnup",
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        scoring: Literal["place", "tricks"] = "place",
        snip_penalty: int = 0,
        tie: Literal["share", "none", "cut"] = "share",
        accumulate: bool = False,
        objective: Literal["least", "most"] = "least",
        hand_size: int | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
    ) -> AECEnv:
        """The environment in PettingZoo's usual wrappers: an illegal action ends the episode.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            n_hands: deals in a match.
            trump_mode: how trump is chosen.
            trump_rotation: trumps in turn, deal by deal.
            scoring: points by place, or one for each trick.
            snip_penalty: points taken off each sniped seat with scoring='tricks'.
            tie: of seats tied for the most tricks, all are sniped, none, or one by lot.
            accumulate: tricks add up over the deals and are scored in the last.
            objective: the fewest tricks win, or the most (plain whist).
            hand_size: cards per seat; by default all cards that can be dealt evenly.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
        """

    def parallel_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        n_hands: int = 1,
        trump_mode: Literal["rotation", "turnup", "random", "none", "dealer"] = "turnup",
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        scoring: Literal["place", "tricks"] = "place",
        snip_penalty: int = 0,
        tie: Literal["share", "none", "cut"] = "share",
        accumulate: bool = False,
        objective: Literal["least", "most"] = "least",
        hand_size: int | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
    ) -> ParallelEnv:
        """`env` in PettingZoo's parallel form; it stays turn-based.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            n_hands: deals in a match.
            trump_mode: how trump is chosen.
            trump_rotation: trumps in turn, deal by deal.
            scoring: points by place, or one for each trick.
            snip_penalty: points taken off each sniped seat with scoring='tricks'.
            tie: of seats tied for the most tricks, all are sniped, none, or one by lot.
            accumulate: tricks add up over the deals and are scored in the last.
            objective: the fewest tricks win, or the most (plain whist).
            hand_size: cards per seat; by default all cards that can be dealt evenly.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
        """

    def raw_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        illegal_action: IllegalAction = "raise",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        n_hands: int = 1,
        trump_mode: Literal["rotation", "turnup", "random", "none", "dealer"] = "turnup",
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        scoring: Literal["place", "tricks"] = "place",
        snip_penalty: int = 0,
        tie: Literal["share", "none", "cut"] = "share",
        accumulate: bool = False,
        objective: Literal["least", "most"] = "least",
        hand_size: int | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
    ) -> TrickTakingEnv:
        """The bare environment: an illegal action raises an error.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            illegal_action: `raise` an error and leave the table unchanged, or `terminate` the episode with a reward of
                -1 for the agent.
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            n_hands: deals in a match.
            trump_mode: how trump is chosen.
            trump_rotation: trumps in turn, deal by deal.
            scoring: points by place, or one for each trick.
            snip_penalty: points taken off each sniped seat with scoring='tricks'.
            tie: of seats tied for the most tricks, all are sniped, none, or one by lot.
            accumulate: tricks add up over the deals and are scored in the last.
            objective: the fewest tricks win, or the most (plain whist).
            hand_size: cards per seat; by default all cards that can be dealt evenly.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
        """

sniped_whist_v0: _SnipedWhist

class _BigShips(ModuleType):
    variant: str
    def env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        start_cards: int | None = None,
        hook: bool = False,
        hook_min_cards: int = 1,
        bonus: Literal["exact", "at_least"] = "exact",
        repeat_one: bool = False,
        direction: Literal["down_up", "down", "up_down"] = "down_up",
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
        hand_size: int | None = None,
    ) -> AECEnv:
        """The environment in PettingZoo's usual wrappers: an illegal action ends the episode.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            start_cards: cards in the first hand, or in the largest with direction='up_down'.
            hook: the last caller may not make the calls add up to the tricks.
            hook_min_cards: smallest hand in which the hook applies.
            bonus: ten points for winning exactly, or at least, the tricks called.
            repeat_one: play the one-card hand twice if the sizes turn there.
            direction: order of the hand sizes.
            trump_rotation: trumps in turn, deal by deal.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
            hand_size: with `episode="deal"` the hand size of the deal; None to draw the deal from the schedule.
        """

    def parallel_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        start_cards: int | None = None,
        hook: bool = False,
        hook_min_cards: int = 1,
        bonus: Literal["exact", "at_least"] = "exact",
        repeat_one: bool = False,
        direction: Literal["down_up", "down", "up_down"] = "down_up",
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
        hand_size: int | None = None,
    ) -> ParallelEnv:
        """`env` in PettingZoo's parallel form; it stays turn-based.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            start_cards: cards in the first hand, or in the largest with direction='up_down'.
            hook: the last caller may not make the calls add up to the tricks.
            hook_min_cards: smallest hand in which the hook applies.
            bonus: ten points for winning exactly, or at least, the tricks called.
            repeat_one: play the one-card hand twice if the sizes turn there.
            direction: order of the hand sizes.
            trump_rotation: trumps in turn, deal by deal.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
            hand_size: with `episode="deal"` the hand size of the deal; None to draw the deal from the schedule.
        """

    def raw_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        illegal_action: IllegalAction = "raise",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        start_cards: int | None = None,
        hook: bool = False,
        hook_min_cards: int = 1,
        bonus: Literal["exact", "at_least"] = "exact",
        repeat_one: bool = False,
        direction: Literal["down_up", "down", "up_down"] = "down_up",
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
        hand_size: int | None = None,
    ) -> TrickTakingEnv:
        """The bare environment: an illegal action raises an error.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            illegal_action: `raise` an error and leave the table unchanged, or `terminate` the episode with a reward of
                -1 for the agent.
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            start_cards: cards in the first hand, or in the largest with direction='up_down'.
            hook: the last caller may not make the calls add up to the tricks.
            hook_min_cards: smallest hand in which the hook applies.
            bonus: ten points for winning exactly, or at least, the tricks called.
            repeat_one: play the one-card hand twice if the sizes turn there.
            direction: order of the hand sizes.
            trump_rotation: trumps in turn, deal by deal.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
            hand_size: with `episode="deal"` the hand size of the deal; None to draw the deal from the schedule.
        """

big_ships_v0: _BigShips

class _SmallShips(ModuleType):
    variant: str
    def env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        min_bid: int | None = None,
        misere_value: int | None = None,
        misere_above: int | None = None,
        misere_trump: Literal["choice", "none"] = "choice",
        misere_nominates: bool = True,
        misere_penalty: Literal["team", "own"] = "team",
        misere_opponents_score: bool = True,
        forced_bid_numeric_only: bool = True,
        forced_bid_closes: bool = False,
        first_trick_restriction: Literal["suit", "card", "off"] = "suit",
        stock_nomination: Literal["alone", "illegal", "redraw"] = "alone",
        target: int | None = 100,
        max_hands: int | None = 20,
        indication: bool = False,
        open_partner: bool = False,
        hand_size: int | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
    ) -> AECEnv:
        """The environment in PettingZoo's usual wrappers: an illegal action ends the episode.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            min_bid: lowest number to bid; by default just above the share of two seats.
            misere_value: points of Misere made alone; by default three below the hand size.
            misere_above: the number directly below Misere; by default three below the hand size.
            misere_trump: Misere with a trump of the declarer's choice, or without.
            misere_nominates: a declarer of Misere nominates a card; otherwise he plays alone.
            misere_penalty: failed Misere: each loses the side's tricks, or its own.
            misere_opponents_score: opponents score their tricks in Misere too.
            forced_bid_numeric_only: a dealer forced to bid must name a number.
            forced_bid_closes: a forced bid ends the auction.
            first_trick_restriction: cards that the declarer may not lead to trick 1.
            stock_nomination: effect of nominating a card in the stock.
            target: points that end the match.
            max_hands: deals that end the match.
            indication: the holder of the nominated card may reveal himself, at a price.
            open_partner: all seats learn the holder of the nominated card at the nomination (not in the rulebook).
            hand_size: cards per seat; by default all cards that can be dealt evenly.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
        """

    def parallel_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        min_bid: int | None = None,
        misere_value: int | None = None,
        misere_above: int | None = None,
        misere_trump: Literal["choice", "none"] = "choice",
        misere_nominates: bool = True,
        misere_penalty: Literal["team", "own"] = "team",
        misere_opponents_score: bool = True,
        forced_bid_numeric_only: bool = True,
        forced_bid_closes: bool = False,
        first_trick_restriction: Literal["suit", "card", "off"] = "suit",
        stock_nomination: Literal["alone", "illegal", "redraw"] = "alone",
        target: int | None = 100,
        max_hands: int | None = 20,
        indication: bool = False,
        open_partner: bool = False,
        hand_size: int | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
    ) -> ParallelEnv:
        """`env` in PettingZoo's parallel form; it stays turn-based.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            min_bid: lowest number to bid; by default just above the share of two seats.
            misere_value: points of Misere made alone; by default three below the hand size.
            misere_above: the number directly below Misere; by default three below the hand size.
            misere_trump: Misere with a trump of the declarer's choice, or without.
            misere_nominates: a declarer of Misere nominates a card; otherwise he plays alone.
            misere_penalty: failed Misere: each loses the side's tricks, or its own.
            misere_opponents_score: opponents score their tricks in Misere too.
            forced_bid_numeric_only: a dealer forced to bid must name a number.
            forced_bid_closes: a forced bid ends the auction.
            first_trick_restriction: cards that the declarer may not lead to trick 1.
            stock_nomination: effect of nominating a card in the stock.
            target: points that end the match.
            max_hands: deals that end the match.
            indication: the holder of the nominated card may reveal himself, at a price.
            open_partner: all seats learn the holder of the nominated card at the nomination (not in the rulebook).
            hand_size: cards per seat; by default all cards that can be dealt evenly.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
        """

    def raw_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        illegal_action: IllegalAction = "raise",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        min_bid: int | None = None,
        misere_value: int | None = None,
        misere_above: int | None = None,
        misere_trump: Literal["choice", "none"] = "choice",
        misere_nominates: bool = True,
        misere_penalty: Literal["team", "own"] = "team",
        misere_opponents_score: bool = True,
        forced_bid_numeric_only: bool = True,
        forced_bid_closes: bool = False,
        first_trick_restriction: Literal["suit", "card", "off"] = "suit",
        stock_nomination: Literal["alone", "illegal", "redraw"] = "alone",
        target: int | None = 100,
        max_hands: int | None = 20,
        indication: bool = False,
        open_partner: bool = False,
        hand_size: int | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
    ) -> TrickTakingEnv:
        """The bare environment: an illegal action raises an error.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            illegal_action: `raise` an error and leave the table unchanged, or `terminate` the episode with a reward of
                -1 for the agent.
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            min_bid: lowest number to bid; by default just above the share of two seats.
            misere_value: points of Misere made alone; by default three below the hand size.
            misere_above: the number directly below Misere; by default three below the hand size.
            misere_trump: Misere with a trump of the declarer's choice, or without.
            misere_nominates: a declarer of Misere nominates a card; otherwise he plays alone.
            misere_penalty: failed Misere: each loses the side's tricks, or its own.
            misere_opponents_score: opponents score their tricks in Misere too.
            forced_bid_numeric_only: a dealer forced to bid must name a number.
            forced_bid_closes: a forced bid ends the auction.
            first_trick_restriction: cards that the declarer may not lead to trick 1.
            stock_nomination: effect of nominating a card in the stock.
            target: points that end the match.
            max_hands: deals that end the match.
            indication: the holder of the nominated card may reveal himself, at a price.
            open_partner: all seats learn the holder of the nominated card at the nomination (not in the rulebook).
            hand_size: cards per seat; by default all cards that can be dealt evenly.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
        """

small_ships_v0: _SmallShips

class _Noms(ModuleType):
    variant: str
    def env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        min_bid: int | None = None,
        dealer_forced: bool | None = None,
        forced_bid_closes: bool = False,
        unbid_slam_loses: bool = False,
        mis_value: int | None = None,
        keep_mis_a_vis: bool = False,
        first_lead: Literal["bidder", "left_of_dealer"] = "bidder",
        implicit_announcements: bool = False,
        open_partner: bool = False,
        tie: Literal["joint", "play_on"] = "joint",
        cut: int | None = None,
        cut_min: int = 1,
        trick_order: Literal["play", "reverse", "random"] = "play",
        trick_stack: Literal["on_top", "underneath"] = "on_top",
        pile_order: Literal["left_first", "right_first", "random"] = "left_first",
        deal_mode: Literal["packets", "packets_shuffled", "single_shuffled"] | None = None,
        double_repeat: Literal["double", "quadruple", "single"] = "double",
        max_deals: int = 200,
        early_stop: bool = False,
        target: int | None = 101,
        observe_previous_hand: bool = False,
        hand_size: int | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
    ) -> AECEnv:
        """The environment in PettingZoo's usual wrappers: an illegal action ends the episode.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            min_bid: lowest number to bid.
            dealer_forced: the dealer must bid after passes of all others; by default if min_bid is below its default.
            forced_bid_closes: a forced bid ends the auction.
            unbid_slam_loses: taking all tricks on a lower bid loses, 26 to each opponent.
            mis_value: 13: Mis above 13; 10: Mis between 10 and 11, usually without Mis a Vis.
            keep_mis_a_vis: keep Mis a Vis although Mis is worth 10.
            first_lead: leader of the first trick.
            implicit_announcements: trump may be left unsaid, a bare rank nominated.
            open_partner: all seats learn the holder of the nominated card at the nomination (not in the rulebook).
            tie: equal leaders at the end win together, or play on.
            cut: cards that every cut takes off the top; None draws it.
            cut_min: fewest cards that a cut takes off or leaves.
            trick_order: order of the cards in a gathered trick.
            trick_stack: where a won trick goes in its winner's pile.
            pile_order: how the new dealer stacks the piles.
            deal_mode: packets from the unshuffled deck, or shuffled deals.
            double_repeat: multiplier after a pass-out in a double hand.
            max_deals: deals after which the match is truncated.
            early_stop: end the deal when its points are decided.
            target: points that end the match.
            observe_previous_hand: show each seat its view of the previous deal.
            hand_size: cards per seat; by default all cards that can be dealt evenly.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
        """

    def parallel_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        min_bid: int | None = None,
        dealer_forced: bool | None = None,
        forced_bid_closes: bool = False,
        unbid_slam_loses: bool = False,
        mis_value: int | None = None,
        keep_mis_a_vis: bool = False,
        first_lead: Literal["bidder", "left_of_dealer"] = "bidder",
        implicit_announcements: bool = False,
        open_partner: bool = False,
        tie: Literal["joint", "play_on"] = "joint",
        cut: int | None = None,
        cut_min: int = 1,
        trick_order: Literal["play", "reverse", "random"] = "play",
        trick_stack: Literal["on_top", "underneath"] = "on_top",
        pile_order: Literal["left_first", "right_first", "random"] = "left_first",
        deal_mode: Literal["packets", "packets_shuffled", "single_shuffled"] | None = None,
        double_repeat: Literal["double", "quadruple", "single"] = "double",
        max_deals: int = 200,
        early_stop: bool = False,
        target: int | None = 101,
        observe_previous_hand: bool = False,
        hand_size: int | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
    ) -> ParallelEnv:
        """`env` in PettingZoo's parallel form; it stays turn-based.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            min_bid: lowest number to bid.
            dealer_forced: the dealer must bid after passes of all others; by default if min_bid is below its default.
            forced_bid_closes: a forced bid ends the auction.
            unbid_slam_loses: taking all tricks on a lower bid loses, 26 to each opponent.
            mis_value: 13: Mis above 13; 10: Mis between 10 and 11, usually without Mis a Vis.
            keep_mis_a_vis: keep Mis a Vis although Mis is worth 10.
            first_lead: leader of the first trick.
            implicit_announcements: trump may be left unsaid, a bare rank nominated.
            open_partner: all seats learn the holder of the nominated card at the nomination (not in the rulebook).
            tie: equal leaders at the end win together, or play on.
            cut: cards that every cut takes off the top; None draws it.
            cut_min: fewest cards that a cut takes off or leaves.
            trick_order: order of the cards in a gathered trick.
            trick_stack: where a won trick goes in its winner's pile.
            pile_order: how the new dealer stacks the piles.
            deal_mode: packets from the unshuffled deck, or shuffled deals.
            double_repeat: multiplier after a pass-out in a double hand.
            max_deals: deals after which the match is truncated.
            early_stop: end the deal when its points are decided.
            target: points that end the match.
            observe_previous_hand: show each seat its view of the previous deal.
            hand_size: cards per seat; by default all cards that can be dealt evenly.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
        """

    def raw_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        illegal_action: IllegalAction = "raise",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        min_bid: int | None = None,
        dealer_forced: bool | None = None,
        forced_bid_closes: bool = False,
        unbid_slam_loses: bool = False,
        mis_value: int | None = None,
        keep_mis_a_vis: bool = False,
        first_lead: Literal["bidder", "left_of_dealer"] = "bidder",
        implicit_announcements: bool = False,
        open_partner: bool = False,
        tie: Literal["joint", "play_on"] = "joint",
        cut: int | None = None,
        cut_min: int = 1,
        trick_order: Literal["play", "reverse", "random"] = "play",
        trick_stack: Literal["on_top", "underneath"] = "on_top",
        pile_order: Literal["left_first", "right_first", "random"] = "left_first",
        deal_mode: Literal["packets", "packets_shuffled", "single_shuffled"] | None = None,
        double_repeat: Literal["double", "quadruple", "single"] = "double",
        max_deals: int = 200,
        early_stop: bool = False,
        target: int | None = 101,
        observe_previous_hand: bool = False,
        hand_size: int | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
    ) -> TrickTakingEnv:
        """The bare environment: an illegal action raises an error.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            illegal_action: `raise` an error and leave the table unchanged, or `terminate` the episode with a reward of
                -1 for the agent.
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            min_bid: lowest number to bid.
            dealer_forced: the dealer must bid after passes of all others; by default if min_bid is below its default.
            forced_bid_closes: a forced bid ends the auction.
            unbid_slam_loses: taking all tricks on a lower bid loses, 26 to each opponent.
            mis_value: 13: Mis above 13; 10: Mis between 10 and 11, usually without Mis a Vis.
            keep_mis_a_vis: keep Mis a Vis although Mis is worth 10.
            first_lead: leader of the first trick.
            implicit_announcements: trump may be left unsaid, a bare rank nominated.
            open_partner: all seats learn the holder of the nominated card at the nomination (not in the rulebook).
            tie: equal leaders at the end win together, or play on.
            cut: cards that every cut takes off the top; None draws it.
            cut_min: fewest cards that a cut takes off or leaves.
            trick_order: order of the cards in a gathered trick.
            trick_stack: where a won trick goes in its winner's pile.
            pile_order: how the new dealer stacks the piles.
            deal_mode: packets from the unshuffled deck, or shuffled deals.
            double_repeat: multiplier after a pass-out in a double hand.
            max_deals: deals after which the match is truncated.
            early_stop: end the deal when its points are decided.
            target: points that end the match.
            observe_previous_hand: show each seat its view of the previous deal.
            hand_size: cards per seat; by default all cards that can be dealt evenly.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
        """

noms_v0: _Noms

class _Nonesuch(ModuleType):
    variant: str
    def env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        half: Literal["ceil", "exact", "floor"] = "ceil",
        target: int | None = 31,
        max_hands: int = 100,
        ranks: int = 10,
        suits: int = 6,
    ) -> AECEnv:
        """The environment in PettingZoo's usual wrappers: an illegal action ends the episode.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            half: half of nine tricks, from which a failed Most counts: 5, 4.5 or 4.
            target: points that end the match.
            max_hands: deals after which the match is truncated.
            ranks: the top ranks that are in the deck (not in the source texts).
            suits: only cards of the first suits, of M S W L Y K, are in the deck (not in the source texts).
        """

    def parallel_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        half: Literal["ceil", "exact", "floor"] = "ceil",
        target: int | None = 31,
        max_hands: int = 100,
        ranks: int = 10,
        suits: int = 6,
    ) -> ParallelEnv:
        """`env` in PettingZoo's parallel form; it stays turn-based.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            half: half of nine tricks, from which a failed Most counts: 5, 4.5 or 4.
            target: points that end the match.
            max_hands: deals after which the match is truncated.
            ranks: the top ranks that are in the deck (not in the source texts).
            suits: only cards of the first suits, of M S W L Y K, are in the deck (not in the source texts).
        """

    def raw_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        illegal_action: IllegalAction = "raise",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        half: Literal["ceil", "exact", "floor"] = "ceil",
        target: int | None = 31,
        max_hands: int = 100,
        ranks: int = 10,
        suits: int = 6,
    ) -> TrickTakingEnv:
        """The bare environment: an illegal action raises an error.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            illegal_action: `raise` an error and leave the table unchanged, or `terminate` the episode with a reward of
                -1 for the agent.
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            half: half of nine tricks, from which a failed Most counts: 5, 4.5 or 4.
            target: points that end the match.
            max_hands: deals after which the match is truncated.
            ranks: the top ranks that are in the deck (not in the source texts).
            suits: only cards of the first suits, of M S W L Y K, are in the deck (not in the source texts).
        """

nonesuch_v0: _Nonesuch

class _DownUp(ModuleType):
    variant: str
    def env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        hook: bool = True,
        hook_min_cards: int = 1,
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
        hand_size: int | None = None,
    ) -> AECEnv:
        """The environment in PettingZoo's usual wrappers: an illegal action ends the episode.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            hook: the last caller may not make the calls add up to the tricks.
            hook_min_cards: smallest hand in which the hook applies.
            trump_rotation: trumps in turn, deal by deal.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
            hand_size: with `episode="deal"` the hand size of the deal; None to draw the deal from the schedule.
        """

    def parallel_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        hook: bool = True,
        hook_min_cards: int = 1,
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
        hand_size: int | None = None,
    ) -> ParallelEnv:
        """`env` in PettingZoo's parallel form; it stays turn-based.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            hook: the last caller may not make the calls add up to the tricks.
            hook_min_cards: smallest hand in which the hook applies.
            trump_rotation: trumps in turn, deal by deal.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
            hand_size: with `episode="deal"` the hand size of the deal; None to draw the deal from the schedule.
        """

    def raw_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        illegal_action: IllegalAction = "raise",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        hook: bool = True,
        hook_min_cards: int = 1,
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
        hand_size: int | None = None,
    ) -> TrickTakingEnv:
        """The bare environment: an illegal action raises an error.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            illegal_action: `raise` an error and leave the table unchanged, or `terminate` the episode with a reward of
                -1 for the agent.
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            hook: the last caller may not make the calls add up to the tricks.
            hook_min_cards: smallest hand in which the hook applies.
            trump_rotation: trumps in turn, deal by deal.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
            hand_size: with `episode="deal"` the hand size of the deal; None to draw the deal from the schedule.
        """

down_up_v0: _DownUp

class _UpDown(ModuleType):
    variant: str
    def env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        schedule: Literal["up_down", "up", "up_down_repeat_top", "up_up"] = "up_down",
        trump_mode: Literal["rotation", "turnup", "random", "none"] = "rotation",
        turnup_full_deal: Literal["none", "dealer_last"] = "none",
        hook: bool = True,
        hook_min_cards: int = 4,
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
        hand_size: int | None = None,
    ) -> AECEnv:
        """The environment in PettingZoo's usual wrappers: an illegal action ends the episode.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            schedule: order of the hand sizes.
            trump_mode: how trump is chosen.
            turnup_full_deal: trump turned up when all cards are dealt.
            hook: the last caller may not make the calls add up to the tricks.
            hook_min_cards: smallest hand in which the hook applies.
            trump_rotation: trumps in turn, deal by deal.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
            hand_size: with `episode="deal"` the hand size of the deal; None to draw the deal from the schedule.
        """

    def parallel_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        schedule: Literal["up_down", "up", "up_down_repeat_top", "up_up"] = "up_down",
        trump_mode: Literal["rotation", "turnup", "random", "none"] = "rotation",
        turnup_full_deal: Literal["none", "dealer_last"] = "none",
        hook: bool = True,
        hook_min_cards: int = 4,
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
        hand_size: int | None = None,
    ) -> ParallelEnv:
        """`env` in PettingZoo's parallel form; it stays turn-based.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            schedule: order of the hand sizes.
            trump_mode: how trump is chosen.
            turnup_full_deal: trump turned up when all cards are dealt.
            hook: the last caller may not make the calls add up to the tricks.
            hook_min_cards: smallest hand in which the hook applies.
            trump_rotation: trumps in turn, deal by deal.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
            hand_size: with `episode="deal"` the hand size of the deal; None to draw the deal from the schedule.
        """

    def raw_env(
        self,
        *,
        seats: int | None = None,
        episode: Episode = "match",
        observation: ObservationKind = "bytes",
        reward: Reward = "points",
        illegal_action: IllegalAction = "raise",
        mask_in: MaskPlace = "observation",
        render_mode: RenderMode | None = None,
        render_seat: int | None = 0,
        render_full: bool = False,
        record: bool = False,
        schedule: Literal["up_down", "up", "up_down_repeat_top", "up_up"] = "up_down",
        trump_mode: Literal["rotation", "turnup", "random", "none"] = "rotation",
        turnup_full_deal: Literal["none", "dealer_last"] = "none",
        hook: bool = True,
        hook_min_cards: int = 4,
        trump_rotation: Sequence[Literal["C", "D", "H", "S", "NT"]] | None = None,
        ranks: int = 13,
        suits: int = 4,
        reveal_stock_at_end: bool = False,
        hand_size: int | None = None,
    ) -> TrickTakingEnv:
        """The bare environment: an illegal action raises an error.

        Args:
            seats: number of seats; None for the variant's default.
            episode: `match`, or `deal` for one scored deal. In an exact-bid game the deal is drawn from the schedule,
                with `hand_size` from the deals of that size. In noms, passed-out deals do not end the episode.
            observation: `bytes`, or `features`: scaled and one-hot numbers for a plain network.
            reward: `points` at the end of each deal, `relative` (own points minus the mean of the others), or `outcome`
                (at the end of the episode, the winners share 1).
            illegal_action: `raise` an error and leave the table unchanged, or `terminate` the episode with a reward of
                -1 for the agent.
            mask_in: place of the action mask: `observation`, `info` (then the observation is the bare array) or `both`.
            render_mode: `ansi`, `human` or, with the extra `render`, `rgb_array`.
            render_seat: the seat whose view `render` shows; None for a spectator, who sees only public information.
            render_full: show all cards.
            record: write records of the deals to `records`, with the legal actions.
            schedule: order of the hand sizes.
            trump_mode: how trump is chosen.
            turnup_full_deal: trump turned up when all cards are dealt.
            hook: the last caller may not make the calls add up to the tricks.
            hook_min_cards: smallest hand in which the hook applies.
            trump_rotation: trumps in turn, deal by deal.
            ranks: the top ranks of each suit that are in the deck (not in the source texts).
            suits: the first suits, of C D H S, that are in the deck (not in the source texts).
            reveal_stock_at_end: show the undealt cards in the result of a deal.
            hand_size: with `episode="deal"` the hand size of the deal; None to draw the deal from the schedule.
        """

up_down_v0: _UpDown
